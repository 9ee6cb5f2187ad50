#pragma once

namespace cadenza {

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.95;
  double epsilon = 1e-8;
  double weight_decay = 0.1;  // on parameters that say so
};

}  // namespace cadenza
