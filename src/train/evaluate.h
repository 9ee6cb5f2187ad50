#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/memory_tokens.h"
#include "model/llama.h"
#include "train/rank_environment.h"

namespace cadenza {

/// Reads {"documents": [[ids], ...]} where the file ends in .json, else text (a file, folder or
/// glob) by the byte-level vocabulary. DataError naming document and place for an empty document or
/// an id outside the vocabulary. None is cut.
MemoryTokens read_eval_documents(const std::string& path, int64_t vocab_size);

struct EvalOptions {
  std::string strategy = "cad";
  double tolerance = 0.02;
  int64_t tokens_per_rank =
      16384;  // documents are batched up to this; a longer one makes a larger batch
  double deadline_seconds = 60;
  std::string gradients_path;  // empty: forward only
};

struct EvalResult {
  double loss_mean = 0;   // 0 where no document has a target
  double perplexity = 1;  // exp(loss_mean)
  int64_t valid_targets = 0;
  int64_t tokens = 0;
  /// Loss of every token, by document in the order given; nothing where there is no target.
  std::vector<std::optional<float>> per_token_loss;
};

/// Mean loss of the model over the documents, on the ranks that were joined; with gradients_path,
/// the gradient of that mean, written by rank 0 under the checkpoint's tensor names.
EvalResult evaluate(RankEnvironment& rank, LlamaModel& model, const MemoryTokens& documents,
                    const EvalOptions& options);

}  // namespace cadenza
