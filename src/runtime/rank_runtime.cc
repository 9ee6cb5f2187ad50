#include "runtime/rank_runtime.h"

#include "base/check.h"
#include "runtime/pass_state.h"

namespace cadenza {

PassResult RankRuntime::run(const Pass& pass) {
  CADENZA_CHECK(pass.program.rank == group_.rank(), "program of rank ", pass.program.rank);
  CADENZA_CHECK(pass.program.home_rows == pass.tokens.rows(), pass.program.home_rows, " rows, ",
                pass.tokens.rows(), " tokens");
  PassState state(group_, backend_, model_, options_, pass);
  for (const Action& action : pass.schedule) state.execute(action);
  return state.finish();
}

}  // namespace cadenza
