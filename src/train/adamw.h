#pragma once

#include <memory>
#include <span>
#include <vector>

#include "config/adamw_options.h"
#include "step/trainable_model.h"

namespace cadenza {

/// libtorch's AdamW over the model's flat buffers, in fp32 whatever the model's dtype.
class AdamW {
 public:
  virtual ~AdamW() = default;
  /// One update from the gradients that the flat buffer holds.
  virtual void step(double learning_rate) = 0;
};

/// `model` must outlive it.
std::unique_ptr<AdamW> make_adamw(TrainableModel& model, const AdamWOptions& options);

}  // namespace cadenza
