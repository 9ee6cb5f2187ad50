#include "core/batch_file.h"

#include <filesystem>
#include <limits>

#include "base/file.h"
#include "base/json.h"
#include "core/json_field.h"
#include "core/piece_json.h"

namespace cadenza {
namespace {

std::vector<Document> documents_from(const JsonField& field) {
  const size_t count = field.size();
  if (count == 0) field.refuse("at least one length");
  std::vector<int64_t> lengths;
  lengths.reserve(count);
  int64_t left = kMaxTokens;
  for (size_t i = 0; i < count; ++i) {
    const JsonField item = field.item(i);
    const int64_t length = item.integer(1, kMaxTokens);
    if (length > left) item.refuse("lengths that sum to at most " + std::to_string(kMaxTokens));
    left -= length;
    lengths.push_back(length);
  }
  return documents_of_lengths(lengths);
}

void read_object(const JsonField& root, BatchFile& file) {
  if (const auto name = root.find("name")) file.name = name->text();
  if (const auto servers = root.find("servers")) {
    file.servers = static_cast<int>(servers->integer(1, std::numeric_limits<int>::max()));
  }
  if (const auto tokens = root.find("tokens_per_server")) {
    file.tokens_per_server = tokens->integer(1, kMaxTokens);
  }
  file.documents = documents_from(root.at("documents"));
  if (const auto field = root.find("mask")) {
    const Mask mask = mask_from_field(*field);
    for (Document& document : file.documents) document.mask = mask;
  }
}

}  // namespace

BatchFile read_batch_file(const std::string& path) {
  const Json json = parse_json(read_file(path), path);
  const JsonField root(json, "batch", path);
  BatchFile file;
  file.name = std::filesystem::path(path).stem().string();
  if (root.is_array()) {
    file.documents = documents_from(root);
  } else {
    if (!json.is_object()) root.refuse("an object with \"documents\", or an array of lengths");
    read_object(root, file);
  }
  return file;
}

}  // namespace cadenza
