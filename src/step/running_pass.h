#pragma once

#include <memory>
#include <vector>

#include "step/nano_batch_pass.h"

namespace cadenza {

/// The nano-batches of one micro-batch while they run.
class RunningPass {
 public:
  RunningPass(AttentionContext& context, Segments& model, const AttentionSpec& spec,
              const std::vector<NanoBatch>& nano_batches, double loss_scale, bool training);
  void execute(const Action& action);
  std::vector<NanoBatchResult> results() const;

 private:
  std::vector<std::unique_ptr<NanoBatchPass>> passes_;
};

}  // namespace cadenza
