#include "step/pass_runner.h"

#include <memory>

#include "base/check.h"
#include "base/interrupt.h"
#include "step/nano_batch_pass.h"

namespace cadenza {

AttentionSpec attention_spec(const Segments& model, const ExchangeOptions& options) {
  AttentionSpec spec{.shape = {.heads = model.heads(),
                               .kv_heads = model.kv_heads(),
                               .head_dim = model.head_dim(),
                               .dtype = model.dtype(),
                               .grad_dtype = options.gradient_dtype},
                     .layers = {},
                     .inputs = options.inputs};
  for (int layer = 0; layer < model.layers(); ++layer) spec.layers.push_back(model.softmax(layer));
  return spec;
}

std::vector<NanoBatchResult> PassRunner::run(const Pass& pass) {
  std::vector<std::unique_ptr<NanoBatchPass>> passes;
  Tag first_tag = kFirstAttentionTag;
  for (const NanoBatch& nano_batch : pass.nano_batches) {
    passes.push_back(
        std::make_unique<NanoBatchPass>(context_, model_, spec_, pass, nano_batch, first_tag));
    first_tag = passes.back()->end_tag();
  }
  if (passes.size() == 2) passes[1]->carry_from(*passes[0]);
  for (const Action& action : pass.schedule) {
    throw_if_interrupted();
    const auto index = static_cast<size_t>(action.nano_batch);
    CADENZA_CHECK(index < passes.size(), to_string(action), " of ", passes.size(), " nano-batches");
    passes[index]->execute(action);
  }
  std::vector<NanoBatchResult> results;
  for (const auto& finished : passes) results.push_back(finished->result());
  return results;
}

}  // namespace cadenza
