#include "train/train_run.h"

#include <gtest/gtest.h>

namespace cadenza {
namespace {

TEST(StreamOptions, DeferForAllRanksWhereAskedTo) {
  TrainConfig config;
  config.tokens_per_rank = 100;
  EXPECT_EQ(stream_options(config, 3).tokens_per_batch, 300);
  EXPECT_EQ(stream_options(config, 3).defer_for_ranks, 0);
  config.defer = true;
  EXPECT_EQ(stream_options(config, 3).defer_for_ranks, 3);
}

TEST(Deferral, IsToldInSteps) {
  const DeferralCounts counts{.released = 4, .waiting = 1, .delay_sum = 12, .longest_delay = 6};
  const Json told = deferral_to_json(counts, /*micro_batches=*/2);
  EXPECT_EQ(told["released_documents"], 4);
  EXPECT_EQ(told["waiting_documents"], 1);
  EXPECT_EQ(told["mean_delay_steps"], 1.5);
  EXPECT_EQ(told["longest_delay_steps"], 3.0);
  EXPECT_EQ(deferral_to_json({}, 2)["mean_delay_steps"], 0.0);
}

}  // namespace
}  // namespace cadenza
