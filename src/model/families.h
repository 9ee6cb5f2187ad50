#pragma once

#include <memory>
#include <span>
#include <string>

#include "model/model_options.h"
#include "step/trainable_model.h"

namespace cadenza {

/// One row of the table of model families: a new family is a row and its files.
struct ModelFamily {
  const char* model_type;  // of Hugging Face's config.json
  /// Loads a folder whose config.json says so. DataError naming file and key or tensor.
  std::unique_ptr<TrainableModel> (*load)(const std::string& folder, const ModelOptions& options);
};

std::span<const ModelFamily> model_families();

/// The model of a Hugging Face folder, by the model_type of its config.json. DataError naming the
/// types that there are for another one.
std::unique_ptr<TrainableModel> load_model(const std::string& folder, const ModelOptions& options);

}  // namespace cadenza
