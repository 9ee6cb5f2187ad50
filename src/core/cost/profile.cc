#include "core/cost/profile.h"

#include <cmath>

#include "base/file.h"
#include "core/batch.h"
#include "core/json_field.h"

namespace cadenza {
namespace {

constexpr const char* kFormat = "cadenza-profile";
constexpr int64_t kVersion = 1;
constexpr int64_t kMaxHeads = 1 << 16;

/// Seconds of one rectangle, from under a cycle to eleven days: what lies outside was not measured,
/// and could leave the range of numbers where it is extrapolated.
constexpr double kLeastSeconds = 1e-12, kMostSeconds = 1e6;

/// Of one pair: no machine is as fast, and none that starts a kernel as slow.
constexpr double kLeastSecondsAPair = 1e-18, kMostSecondsAPair = 1;

double seconds_from(const JsonField& field, double pairs) {
  const double seconds = field.positive();
  if (seconds < kLeastSeconds || seconds > kMostSeconds) field.refuse("seconds, 1e-12 to 1e6");
  if (seconds < kLeastSecondsAPair * pairs || seconds > kMostSecondsAPair * pairs)
    field.refuse("seconds that are 1e-18 to 1 for each pair of rows");
  return seconds;
}

Json machine_from(const JsonField& root) {
  const auto machine = root.find("machine");
  if (!machine) return Json::object();
  machine->require_object();
  return machine->json();
}

std::vector<int64_t> lengths_from(const JsonField& field) {
  std::vector<int64_t> lengths;
  for (size_t i = 0; i < field.size(); ++i) {
    lengths.push_back(field.item(i).integer(1, kMaxTokens));
    if (i > 0 && lengths[i] <= lengths[i - 1]) field.refuse("ascending lengths");
  }
  if (lengths.size() < 2) field.refuse("at least two lengths");
  return lengths;
}

AttentionGrid grid_from(const JsonField& root, const char* key) {
  std::vector<int64_t> q_rows = lengths_from(root.at("q_rows"));
  std::vector<int64_t> kv_rows = lengths_from(root.at("kv_rows"));
  const JsonField table = root.at(key);
  if (table.size() != q_rows.size()) table.refuse("a list for each of q_rows");
  std::vector<std::vector<double>> seconds;
  for (size_t i = 0; i < q_rows.size(); ++i) {
    const JsonField row = table.item(i);
    if (row.size() != kv_rows.size()) row.refuse("a number for each of kv_rows");
    std::vector<double>& values = seconds.emplace_back();
    for (size_t j = 0; j < kv_rows.size(); ++j) {
      const double pairs = static_cast<double>(q_rows[i]) * static_cast<double>(kv_rows[j]);
      values.push_back(seconds_from(row.item(j), pairs));
    }
  }
  return {std::move(q_rows), std::move(kv_rows), std::move(seconds)};
}

/// A byte a second to a petabyte, and no wait longer than an hour: what lies outside was not
/// measured.
constexpr double kMostLatency = 3600, kLeastRate = 1, kMostRate = 1e15;

std::optional<ExchangeCost> exchange_from(const JsonField& root) {
  const auto exchange = root.find("exchange");
  if (!exchange) return std::nullopt;
  const auto rate = [&](const char* key) {
    const JsonField field = exchange->at(key);
    const double value = field.positive();
    if (value < kLeastRate || value > kMostRate) field.refuse("bytes a second, 1 to 1e15");
    return value;
  };
  const JsonField latency = exchange->at("latency_seconds");
  if (latency.not_negative() > kMostLatency) latency.refuse("seconds, 0 to 3600");
  return ExchangeCost{latency.not_negative(), rate("bytes_per_second"),
                      rate("pack_bytes_per_second")};
}

Dtype dtype_from(const JsonField& field) {
  for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
    if (field.text() == dtype_name(dtype)) return dtype;
  }
  field.refuse("bf16 or fp32");
}

}  // namespace

Json profile_to_json(const Profile& profile) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"kernel", profile.kernel},
               {"model",
                {{"heads", profile.shape.heads},
                 {"kv_heads", profile.shape.kv_heads},
                 {"head_dim", profile.shape.head_dim},
                 {"dtype", dtype_name(profile.shape.dtype)}}},
               {"q_rows", profile.forward.q_rows()},
               {"kv_rows", profile.forward.kv_rows()},
               {"forward_seconds", profile.forward.table()},
               {"backward_seconds", profile.backward.table()},
               {"own_error",
                {{"points", profile.error.points},
                 {"median", profile.error.median},
                 {"worst", profile.error.worst}}},
               {"machine", profile.machine}};
  if (profile.exchange) {
    json["exchange"] = {{"latency_seconds", profile.exchange->latency_seconds},
                        {"bytes_per_second", profile.exchange->bytes_per_second},
                        {"pack_bytes_per_second", profile.exchange->pack_bytes_per_second}};
  }
  return json;
}

Profile read_profile(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  const JsonField root(json, "profile", path);
  root.require_object();
  if (root.at("format").text() != kFormat) root.at("format").refuse("\"cadenza-profile\"");
  root.at("version").integer(kVersion, kVersion);
  const JsonField model = root.at("model");
  ProfileError error;
  if (const auto own = root.find("own_error")) {
    error = {own->at("points").integer(0, kMaxTokens), own->at("median").not_negative(),
             own->at("worst").not_negative()};
  }
  return {.kernel = root.at("kernel").text(),
          .shape = {.heads = model.at("heads").integer(1, kMaxHeads),
                    .kv_heads = model.at("kv_heads").integer(1, kMaxHeads),
                    .head_dim = model.at("head_dim").integer(1, kMaxHeads),
                    .dtype = dtype_from(model.at("dtype"))},
          .forward = grid_from(root, "forward_seconds"),
          .backward = grid_from(root, "backward_seconds"),
          .error = error,
          .exchange = exchange_from(root),
          .machine = machine_from(root)};
}

}  // namespace cadenza
