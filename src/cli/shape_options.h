#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

#include "core/model_shape.h"

namespace cadenza {

/// The value of --dtype: "bf16" or "fp32". ConfigError for anything else.
Dtype dtype_of_option(const std::string& name);

/// --hidden, --kv-width, --head-dim, --dtype, or --model config.json: all that a plan needs to know
/// of a model.
class ShapeOptions {
 public:
  void attach(CLI::App& app);

  /// ConfigError or DataError where the options or the file make no sense.
  ModelShape shape() const;

 private:
  int64_t hidden_ = 4096;
  int64_t kv_width_ = 1024;
  int64_t head_dim_ = 0;
  std::string dtype_ = "bf16";
  std::string model_;
};

}  // namespace cadenza
