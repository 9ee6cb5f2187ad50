#include "step/pass_runner.h"

#include "step/running_pass.h"

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
  RunningPass running(context_, model_, spec_, pass.nano_batches, pass.loss_scale, pass.training);
  for (const Action& action : pass.schedule) running.execute(action);
  return running.results();
}

}  // namespace cadenza
