#include "cli/shape_options.h"

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace cadenza {
namespace {

/// To bytes only widths matter. Unless told (head_dim > 0), heads of 128 where that divides both,
/// else of the largest width that does.
ModelShape shape_of_widths(int64_t hidden, int64_t kv_width, int64_t head_dim, Dtype dtype) {
  if (hidden < 1 || kv_width < 1 || hidden % kv_width != 0) {
    throw ConfigError(cat("[--kv-width] expected hidden a multiple of kv-width, both >= 1, got ",
                          hidden, " and ", kv_width, "; give --kv-width ",
                          hidden < 1 ? 1024 : hidden));
  }
  if (head_dim < 0 || (head_dim > 0 && kv_width % head_dim != 0)) {
    throw ConfigError(cat("[--head-dim] expected a divisor of kv-width ", kv_width, ", got ",
                          head_dim, "; give --head-dim ", kv_width));
  }
  const int64_t dim = head_dim > 0 ? head_dim : kv_width % 128 == 0 ? 128 : kv_width;
  return {.heads = hidden / dim, .kv_heads = kv_width / dim, .head_dim = dim, .dtype = dtype};
}

int64_t positive(const Json& json, const char* key, const std::string& path, int64_t absent) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) {
    if (absent > 0) return absent;
    throw DataError(
        cat("[--model] ", path, ": expected the key ", key, ", got none; give a config.json"));
  }
  if (!found->is_number_integer() || found->get<int64_t>() < 1) {
    throw DataError(cat("[--model] ", path, ": expected ", key, " >= 1, got ", found->dump(),
                        "; correct the file"));
  }
  return found->get<int64_t>();
}

/// The four keys of a Hugging Face config.json that name widths.
ModelShape shape_of_model(const std::string& path, Dtype dtype) {
  const Json json = parse_json(read_file(path), path);
  if (!json.is_object()) {
    throw DataError(cat("[--model] ", path, ": expected a JSON object, got ", json.type_name(),
                        "; give a config.json"));
  }
  const int64_t heads = positive(json, "num_attention_heads", path, 0);
  const int64_t kv_heads = positive(json, "num_key_value_heads", path, heads);
  const int64_t hidden = positive(json, "hidden_size", path, 0);
  const int64_t head_dim = positive(json, "head_dim", path, hidden / heads);
  if (heads % kv_heads != 0) {
    throw DataError(cat("[--model] ", path, ": expected num_attention_heads a multiple of ",
                        "num_key_value_heads, got ", heads, " and ", kv_heads,
                        "; correct the file"));
  }
  return {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim, .dtype = dtype};
}

}  // namespace

Dtype dtype_of_option(const std::string& name) {
  if (name == "fp32" || name == "float32") return Dtype::kFloat32;
  if (name == "bf16" || name == "bfloat16") return Dtype::kBFloat16;
  throw ConfigError(cat("[--dtype] expected bf16 or fp32, got '", name, "'; give one of them"));
}

void ShapeOptions::attach(CLI::App& app) {
  auto* hidden = app.add_option("--hidden", hidden_, "Width of a query row: heads x head_dim")
                     ->capture_default_str();
  auto* kv = app.add_option("--kv-width", kv_width_, "Width of a key row: kv heads x head_dim")
                 ->capture_default_str();
  auto* dim = app.add_option("--head-dim", head_dim_,
                             "Width of a head; default: 128 if that divides the kv-width, "
                             "else the kv-width");
  app.add_option("--dtype", dtype_, "Of rows on the wire: bf16 or fp32")->capture_default_str();
  app.add_option("--model", model_, "A Hugging Face config.json, instead of the widths")
      ->excludes(hidden)
      ->excludes(kv)
      ->excludes(dim);
}

ModelShape ShapeOptions::shape() const {
  const Dtype dtype = dtype_of_option(dtype_);
  return model_.empty() ? shape_of_widths(hidden_, kv_width_, head_dim_, dtype)
                        : shape_of_model(model_, dtype);
}

}  // namespace cadenza
