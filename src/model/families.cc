#include "model/families.h"

#include <algorithm>
#include <array>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/llama.h"

namespace cadenza {
namespace {

std::unique_ptr<TrainableModel> load(const std::string& folder, const ModelOptions& options) {
  return load_llama(folder, options);
}

/// Mistral is Llama with a mask of its own, which the configuration says.
constexpr std::array kFamilies{ModelFamily{"llama", &load}, ModelFamily{"mistral", &load}};

std::string known_types() {
  std::string types;
  for (const ModelFamily& family : kFamilies)
    types += cat(types.empty() ? "" : ", ", family.model_type);
  return types;
}

}  // namespace

std::span<const ModelFamily> model_families() { return kFamilies; }

std::unique_ptr<TrainableModel> load_model(const std::string& folder, const ModelOptions& options) {
  const std::string path = folder + "/config.json";
  const Json config = parse_json(read_file(path), path);
  const Json type = config.is_object() ? config.value("model_type", Json()) : Json();
  const auto family = std::ranges::find_if(
      kFamilies, [&](const ModelFamily& row) { return type == row.model_type; });
  if (family != kFamilies.end()) return family->load(folder, options);
  throw DataError(cat("[model] ", path, ": model_type: expected one of ", known_types(), ", got ",
                      type.dump(), "; this version has no other family"));
}

}  // namespace cadenza
