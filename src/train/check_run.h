#pragma once

#include "comm/group.h"
#include "config/train_config.h"
#include "data/corpus.h"

namespace cadenza {

/// Refuses documents that the model cannot place: longer than max_position_embeddings, as far as
/// they fit into a batch of `ranks` ranks. ConfigError naming the longest. Called before ranks
/// start, and by each rank.
void check_documents_fit(const TrainConfig& config, const Corpus& corpus, int ranks);

/// ConfigError naming the ranks whose configuration or documents differ from rank 0's: hosts with
/// another file, another command line. Every rank calls it, before anything else is exchanged.
void check_ranks_agree(Group& group, const TrainConfig& config, const Corpus& corpus);

}  // namespace cadenza
