#include "train/layer_kinds.h"

namespace cadenza {

std::vector<LayerKind> layer_kinds(const Segments& model) {
  std::vector<LayerKind> kinds;
  for (const Mask& mask : model.masks()) kinds.push_back({mask, 0});
  for (int layer = 0; layer < model.layers(); ++layer)
    kinds.at(static_cast<size_t>(model.softmax(layer).kind)).share += 1.0 / model.layers();
  return kinds;
}

}  // namespace cadenza
