#pragma once

#include <cstdint>

#include "base/units.h"

namespace cadenza {

/// What a segment keeps from forward to backward.
enum class Recompute {
  kNone,     // its whole autograd graph
  kSegment,  // its inputs; forward is run again in backward (attention outputs are kept by the
             // runtime)
};

/// How a model computes, whatever its family.
struct ModelOptions {
  Dtype dtype = Dtype::kFloat32;  // of the weights that passes compute with, and of activations
  Recompute recompute = Recompute::kNone;
  int64_t head_chunk_rows = 1024;  // rows of logits alive at once: bounds rows × vocabulary
};

}  // namespace cadenza
