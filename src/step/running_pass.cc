#include "step/running_pass.h"

#include "base/check.h"
#include "base/interrupt.h"

namespace cadenza {

RunningPass::RunningPass(AttentionContext& context, Segments& model, const AttentionSpec& spec,
                         const std::vector<NanoBatch>& nano_batches, double loss_scale,
                         bool training) {
  Tag first_tag = kFirstAttentionTag;
  for (const NanoBatch& nano_batch : nano_batches) {
    passes_.push_back(std::make_unique<NanoBatchPass>(context, model, spec, nano_batch, loss_scale,
                                                      training, first_tag));
    first_tag = passes_.back()->end_tag();
  }
  if (passes_.size() == 2) passes_[1]->carry_from(*passes_[0]);
}

void RunningPass::execute(const Action& action) {
  throw_if_interrupted();
  const auto index = static_cast<size_t>(action.nano_batch);
  CADENZA_CHECK(index < passes_.size(), to_string(action), " of ", passes_.size(), " nano-batches");
  passes_[index]->execute(action);
}

std::vector<NanoBatchResult> RunningPass::results() const {
  std::vector<NanoBatchResult> results;
  for (const auto& pass : passes_) results.push_back(pass->result());
  return results;
}

}  // namespace cadenza
