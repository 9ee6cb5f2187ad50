#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/llama.h"

namespace cadenza {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // on parameters that say so
};

/// libtorch's AdamW over the model's flat buffers, in fp32 whatever the model's dtype.
class AdamW {
 public:
  virtual ~AdamW() = default;
  /// One update from the gradients that the flat buffer holds.
  virtual void step(double learning_rate) = 0;
};

/// `model` must outlive it.
std::unique_ptr<AdamW> make_adamw(LlamaModel& model, const AdamWOptions& options);

}  // namespace cadenza
