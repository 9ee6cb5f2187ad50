#include "program/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace cadenza {
namespace {

using Kind = Action::Kind;

std::vector<std::string> texts_of(const std::vector<Action>& actions) {
  std::vector<std::string> texts;
  for (const Action& action : actions) texts.push_back(to_string(action));
  return texts;
}

TEST(StepSchedule, OfOneLayerIsAPassAndWhatFollowsIt) {
  EXPECT_THAT(texts_of(step_schedule(ScheduleKind::kPlain, 1, 1)),
              testing::ElementsAre(
                  "A segment_forward 0", "A send_inputs 0", "A attend_forward 0",
                  "A merge_outputs 0", "A segment_forward 1", "post_plans", "A segment_backward 1",
                  "A send_gradients 0", "A attend_backward 0", "A sum_gradients 0", "receive_plans",
                  "A segment_backward 0", "share_status", "reduce_gradients", "update"));
}

class EverySchedule : public testing::TestWithParam<ScheduleKind> {};

TEST_P(EverySchedule, RunsTheMicroBatchesInTurnAndTheRestOnce) {
  for (int layers = 1; layers <= 5; ++layers) {
    for (int micro_batches = 1; micro_batches <= 3; ++micro_batches) {
      const std::vector<Action> step = step_schedule(GetParam(), layers, micro_batches);
      const std::vector<Action> pass = make_schedule(GetParam(), layers, true);
      std::vector<Action> passes;
      std::vector<Kind> others;
      for (const Action& action : step) {
        if (is_of_pass(action.kind)) {
          passes.push_back(action);
        } else {
          EXPECT_EQ(action.micro_batch, micro_batches - 1);
          others.push_back(action.kind);
        }
      }
      EXPECT_THAT(others,
                  testing::ElementsAre(Kind::kPostPlans, Kind::kReceivePlans, Kind::kShareStatus,
                                       Kind::kReduceGradients, Kind::kUpdate));
      ASSERT_EQ(passes.size(), pass.size() * static_cast<size_t>(micro_batches));
      for (size_t i = 0; i < passes.size(); ++i) {
        Action expected = pass[i % pass.size()];
        expected.micro_batch = static_cast<int>(i / pass.size());
        EXPECT_EQ(passes[i], expected);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EverySchedule,
                         testing::Values(ScheduleKind::kPlain, ScheduleKind::kPingPong),
                         [](const auto& instance) {
                           return instance.param == ScheduleKind::kPlain ? "plain" : "ping_pong";
                         });

}  // namespace
}  // namespace cadenza
