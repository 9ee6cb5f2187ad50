#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "step/segments.h"

namespace cadenza {

/// One parameter inside a model's flat buffers.
struct ParameterInfo {
  std::string name;  // Hugging Face's
  std::vector<int64_t> shape;
  int64_t offset = 0;  // elements from the start of the flat buffers
  int64_t elements = 0;
  bool weight_decay = true;  // matrices and embeddings yes, norms no
};

/// A model as the optimizer and the reduction see it: all parameters in one flat fp32 buffer, all
/// gradients in another of the same layout. Passes add to the gradients.
class TrainableModel : public Segments {
 public:
  virtual const std::vector<ParameterInfo>& parameters() const = 0;
  virtual std::span<float> flat_parameters() = 0;
  virtual std::span<float> flat_gradients() = 0;
  virtual int64_t vocab_size() const = 0;
};

}  // namespace cadenza
