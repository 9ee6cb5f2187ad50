#include "model/safetensors_header.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/cat.h"
#include "base/error.h"
#include "base/json.h"

namespace cadenza {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

[[noreturn]] void refuse(const std::string& where, const std::string& tensor,
                         const std::string& expected, const std::string& got) {
  throw DataError(cat("[safetensors] ", where, ": tensor \"", tensor, "\": expected ", expected,
                      ", got ", got, "; the file is damaged, copy or export it again"));
}

// A count as the format allows it: a JSON integer without sign, fraction or exponent, that fits
// int64_t.
int64_t read_count(const Json& json, const std::string& where, const std::string& tensor,
                   const char* what) {
  if (!json.is_number_unsigned() || json.get<uint64_t>() > static_cast<uint64_t>(kLargest)) {
    refuse(where, tensor, cat(what, " as integers from 0 to 2^63 - 1"), json.dump());
  }
  return static_cast<int64_t>(json.get<uint64_t>());
}

std::vector<int64_t> read_counts(const Json& json, const std::string& where,
                                 const std::string& tensor, const char* what) {
  if (!json.is_array()) refuse(where, tensor, cat(what, " as an array"), json.dump());
  std::vector<int64_t> counts;
  for (const Json& item : json) counts.push_back(read_count(item, where, tensor, what));
  return counts;
}

// dtype × shape; refused where the product passes int64_t, also when a later dim is 0.
int64_t tensor_bytes(const TensorEntry& entry, const std::string& where) {
  int64_t bytes = stored_dtype_bytes(entry.dtype);
  if (bytes == 0)
    refuse(where, entry.name, "a known dtype (F32 or BF16 to be loaded)", entry.dtype);
  for (const int64_t dim : entry.shape) {
    if (dim != 0 && bytes > kLargest / dim) {
      refuse(where, entry.name, "a shape whose bytes fit 63 bits", Json(entry.shape).dump());
    }
    bytes *= dim;
  }
  return bytes;
}

void check_keys(const Json& json, const std::string& where, const std::string& tensor) {
  if (!json.is_object()) {
    refuse(where, tensor, "an object of dtype, shape and data_offsets", json.dump());
  }
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!json.contains(key)) refuse(where, tensor, cat("the key ", key), json.dump());
  }
  if (json.size() != 3) refuse(where, tensor, "only dtype, shape and data_offsets", json.dump());
  if (!json["dtype"].is_string()) refuse(where, tensor, "dtype as text", json["dtype"].dump());
}

void check_range(const TensorEntry& entry, int64_t data_bytes, const std::string& where) {
  const int64_t bytes = tensor_bytes(entry, where);
  const std::string got = cat("[", entry.begin, ", ", entry.end, ")");
  if (entry.begin > entry.end) refuse(where, entry.name, "data_offsets with begin <= end", got);
  if (entry.end > data_bytes) {
    refuse(where, entry.name, cat("data_offsets within the ", data_bytes, " data bytes"), got);
  }
  if (entry.end - entry.begin != bytes) {
    refuse(where, entry.name, cat("a range of ", bytes, " bytes (dtype times shape)"), got);
  }
}

TensorEntry read_entry(const std::string& name, const Json& json, int64_t data_bytes,
                       const std::string& where) {
  check_keys(json, where, name);
  const auto offsets = read_counts(json["data_offsets"], where, name, "data_offsets");
  if (offsets.size() != 2) refuse(where, name, "two data_offsets", json["data_offsets"].dump());
  TensorEntry entry{.name = name,
                    .dtype = json["dtype"].get<std::string>(),
                    .shape = read_counts(json["shape"], where, name, "shape"),
                    .begin = offsets[0],
                    .end = offsets[1]};
  check_range(entry, data_bytes, where);
  return entry;
}

void check_metadata(const Json& json, const std::string& where) {
  const bool texts =
      json.is_object() &&
      std::all_of(json.begin(), json.end(), [](const Json& item) { return item.is_string(); });
  if (!texts) {
    throw DataError(cat("[safetensors] ", where,
                        ": expected __metadata__ as an object of texts, got ", json.dump(),
                        "; the file is damaged, copy or export it again"));
  }
}

// In the order of their bytes each range must begin where the one before ended: then none overlap
// and no byte is unnamed.
void check_tiling(const std::vector<TensorEntry>& entries, int64_t data_bytes,
                  const std::string& where) {
  std::vector<const TensorEntry*> order;
  for (const TensorEntry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const TensorEntry* a, const TensorEntry* b) {
    return std::tie(a->begin, a->end) < std::tie(b->begin, b->end);
  });
  int64_t covered = 0;
  for (const TensorEntry* entry : order) {
    if (entry->begin != covered) {
      const char* fault = entry->begin < covered ? " (overlap)" : " (hole)";
      refuse(where, entry->name, cat("data from byte ", covered),
             cat("byte ", entry->begin, fault));
    }
    covered = entry->end;
  }
  if (covered != data_bytes) {
    throw DataError(cat("[safetensors] ", where, ": expected ", covered,
                        " data bytes as the header says, got ", data_bytes,
                        "; the file is damaged, copy or export it again"));
  }
}

}  // namespace

int64_t stored_dtype_bytes(const std::string& dtype) {
  static const std::map<std::string, int64_t> kBytes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"F8_E8M0", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},     {"U32", 4},
      {"F32", 4},  {"I64", 8}, {"U64", 8}, {"F64", 8},     {"C64", 8}};
  const auto found = kBytes.find(dtype);
  return found == kBytes.end() ? 0 : found->second;
}

std::vector<TensorEntry> parse_safetensors_header(std::string_view header, int64_t data_bytes,
                                                  const std::string& where) {
  // A zero byte would end the JSON parser's input early; a byte order mark would be skipped by it.
  if (header.empty() || header.front() != '{' || header.find('\0') != std::string_view::npos) {
    throw DataError(cat("[safetensors] ", where,
                        ": expected a JSON header that begins with {, got ", header.size(),
                        " other bytes; is it a safetensors file?"));
  }
  const Json json = parse_json(std::string(header), where);
  std::vector<TensorEntry> entries;
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") {
      check_metadata(value, where);
    } else {
      entries.push_back(read_entry(name, value, data_bytes, where));
    }
  }
  check_tiling(entries, data_bytes, where);
  return entries;
}

}  // namespace cadenza
