#include "train/check_run.h"

#include <algorithm>

#include "base/cat.h"
#include "base/error.h"
#include "base/hash.h"
#include "comm/collectives.h"

namespace cadenza {

void check_documents_fit(const TrainConfig& config, const Corpus& corpus, int ranks) {
  const auto& documents = corpus.sources();
  const auto longest = std::ranges::max_element(documents, {}, &DocumentSource::tokens);
  // One that is longer than a batch is cut there.
  const int64_t tokens = std::min(longest->tokens, ranks * config.tokens_per_rank);
  if (!config.checkpoint.empty() || tokens <= config.model.max_position_embeddings) return;
  throw ConfigError(cat("[train] ", longest->path, " gives a document of ", tokens,
                        " tokens, but model.max_position_embeddings is ",
                        config.model.max_position_embeddings,
                        "; raise it, or set data.max_length to leave longer documents out"));
}

void check_ranks_agree(Group& group, const TrainConfig& config, const Corpus& corpus) {
  const uint64_t mine =
      hash_bytes(train_config_to_json(config).dump() + hash_text(corpus.fingerprint()));
  const auto all =
      all_gather(group, hash_text(mine), Deadline::after_seconds(config.deadline_seconds));
  for (size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    throw ConfigError(
        cat("[train] rank ", rank, " has another configuration or other documents ",
            "than rank 0; give all ranks the same command line, files and documents"));
  }
}

}  // namespace cadenza
