#include "bench/document_lengths.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/rng.h"

namespace cadenza::bench {
namespace {

// Of dist_wlbllm.json draws 32K tokens whose pairs are the median over seeds.
constexpr uint64_t kSeed = 0;
constexpr int kBuiltInSamples = 4096;

}  // namespace

LengthDistribution read_lengths(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  LengthDistribution out{.samples = {}, .source = std::filesystem::path(path).filename().string()};
  const auto is_length = [](const Json& x) { return x.is_number_integer() && x >= 1; };
  if (!json.is_array() || json.empty() || !std::all_of(json.begin(), json.end(), is_length)) {
    throw DataError(cat("[bench] expected ", path,
                        " to be a JSON array of whole numbers >= 1, the lengths of documents in "
                        "tokens, got something else; give --lengths another file"));
  }
  json.get_to(out.samples);
  return out;
}

LengthDistribution built_in_lengths() {
  LengthDistribution out{.samples = {}, .source = "the built-in distribution"};
  Rng rng(kSeed);
  for (int i = 0; i < kBuiltInSamples; ++i) {
    const double fraction = static_cast<double>(rng() >> 11) * 0x1p-53;
    const double length = 64 * std::pow(128.0, fraction);
    out.samples.push_back(static_cast<int64_t>(length) * (i % 64 == 63 ? 8 : 1));
  }
  return out;
}

std::vector<int64_t> draw_documents(const std::vector<int64_t>& samples, int64_t tokens) {
  std::vector<int64_t> documents;
  Rng rng(kSeed);
  while (tokens > 0) {
    documents.push_back(std::min(tokens, samples[uniform_below(rng, samples.size())]));
    tokens -= documents.back();
  }
  return documents;
}

}  // namespace cadenza::bench
