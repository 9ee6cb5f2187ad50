#include "eval/eval_documents.h"

#include <filesystem>
#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "data/corpus.h"

namespace cadenza {
namespace {

MemoryTokens documents_from_json(const std::string& path, int64_t vocab_size) {
  const Json json = parse_json(read_file(path), path);
  if (!json.is_object() || !json.contains("documents") || !json["documents"].is_array()) {
    throw DataError(cat("[eval] ", path, R"(: expected {"documents": [[token ids], ...]})"));
  }
  MemoryTokens result;
  for (const Json& ids : json["documents"]) {
    const std::string place = cat(path, ": documents[", result.documents(), "]");
    if (!ids.is_array() || ids.empty()) {
      throw DataError(cat("[eval] ", place, ": expected a list of at least one token id, got ",
                          ids.dump().substr(0, 40)));
    }
    std::vector<int32_t> document;
    for (const Json& id : ids) {
      if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= vocab_size) {
        throw DataError(cat("[eval] ", place, "[", document.size(),
                            "]: expected a token id in [0, ", vocab_size,
                            "), the checkpoint's vocabulary, got ", id.dump()));
      }
      document.push_back(id.get<int32_t>());
    }
    result.add({std::move(document), place});
  }
  return result;
}

MemoryTokens documents_from_text(const std::string& path, int64_t vocab_size) {
  if (vocab_size < ByteVocabulary::kSize) {
    throw DataError(cat("[eval] text is read by the byte-level vocabulary of ",
                        ByteVocabulary::kSize, " tokens, but the checkpoint has ", vocab_size,
                        R"(; give token ids as {"documents": [[...], ...]} in a .json file)"));
  }
  CorpusOptions options;
  options.paths = {path};
  const Corpus corpus(options);
  MemoryTokens result;
  for (size_t i = 0; i < corpus.documents(); ++i) {
    result.add({corpus.read(i), corpus.name(i)});
  }
  return result;
}

}  // namespace

MemoryTokens read_eval_documents(const std::string& path, int64_t vocab_size) {
  const bool json = std::filesystem::path(path).extension() == ".json";
  MemoryTokens result =
      json ? documents_from_json(path, vocab_size) : documents_from_text(path, vocab_size);
  if (result.documents() == 0) throw DataError(cat("[eval] ", path, " holds no document"));
  return result;
}

}  // namespace cadenza
