#include "runtime/rank_runtime.h"

#include "base/check.h"
#include "runtime/pass_state.h"

namespace cadenza {

PassResult RankRuntime::run(const Pass& pass) {
  std::vector<std::unique_ptr<PassState>> states;
  Tag first_tag = kFirstPassTag;
  for (const NanoBatch& nano_batch : pass.nano_batches) {
    const RankProgram& program = nano_batch.program;
    CADENZA_CHECK(program.rank == group_.rank(), "program of rank ", program.rank);
    CADENZA_CHECK(program.home_rows == nano_batch.tokens.rows(), program.home_rows, " rows, ",
                  nano_batch.tokens.rows(), " tokens");
    PassState* before = states.empty() ? nullptr : states.back().get();
    states.push_back(std::make_unique<PassState>(group_, backend_, model_, options_, pass,
                                                 nano_batch, first_tag, before));
    first_tag = states.back()->end_tag();
  }
  for (const Action& action : pass.schedule) {
    const auto index = static_cast<size_t>(action.nano_batch);
    CADENZA_CHECK(index < states.size(), to_string(action), " of ", states.size(), " nano-batches");
    states[index]->execute(action);
  }
  PassResult result;
  for (const auto& state : states) result.nano_batches.push_back(state->finish(result.times));
  return result;
}

}  // namespace cadenza
