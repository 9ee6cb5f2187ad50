#include "base/lane_clock.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/rng.h"

namespace cadenza {
namespace {

using Clock = LaneClock::Clock;

void pass(int microseconds) {
  const auto end = Clock::now() + std::chrono::microseconds(microseconds);
  while (Clock::now() < end) {
  }
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

TEST(LaneClock, EveryMomentIsInOneLane) {
  Rng rng(3);
  const auto before = Clock::now();
  LaneClock clock;
  const auto after = Clock::now();
  for (int i = 0; i < 50; ++i) {
    const LaneClock::Scope outer(clock, static_cast<Lane>(uniform_below(rng, kLanes)));
    pass(20);
    const LaneClock::Scope inner(clock, static_cast<Lane>(uniform_below(rng, kLanes)));
    pass(20);
  }
  const double least = seconds_since(after);
  const double total = clock.times().total();
  EXPECT_GE(total, least);
  EXPECT_LE(total, seconds_since(before));
}

TEST(LaneClock, ScopesNestAndReturn) {
  LaneClock clock;
  {
    const LaneClock::Scope segment(clock, Lane::kSegment);
    pass(300);
    {
      const LaneClock::Scope pack(clock, Lane::kPack);
      pass(200);
    }
    pass(300);
  }
  pass(100);
  const LaneTimes times = clock.times();
  EXPECT_GE(times[Lane::kSegment], 600e-6);
  EXPECT_GE(times[Lane::kPack], 200e-6);
  EXPECT_GE(times[Lane::kOther], 100e-6);
  EXPECT_EQ(times[Lane::kAttention], 0.0);
}

TEST(LaneClock, AWaitIsSplitWhenItsMessageWasPosted) {
  LaneClock clock;
  {
    LaneClock::Wait wait(clock);
    pass(400);
    wait.posted_at(Clock::now());
    pass(200);
  }
  const LaneTimes times = clock.times();
  EXPECT_GE(times[Lane::kImbalanceWait], 400e-6);
  EXPECT_GE(times[Lane::kTransferWait], 200e-6);
}

TEST(LaneClock, AWaitForWhatWasPostedBeforeIsTransferAndWithoutAWordImbalance) {
  LaneClock clock;
  {
    LaneClock::Wait wait(clock);
    wait.posted_at(Clock::now() - std::chrono::hours(1));
    pass(100);
  }
  EXPECT_EQ(clock.times()[Lane::kImbalanceWait], 0.0);
  EXPECT_GE(clock.times()[Lane::kTransferWait], 100e-6);
  clock.restart();
  {
    const LaneClock::Wait wait(clock);
    pass(100);
  }
  EXPECT_EQ(clock.times()[Lane::kTransferWait], 0.0);
  EXPECT_GE(clock.times()[Lane::kImbalanceWait], 100e-6);
}

TEST(LaneClock, AStampOfTheFutureIsNoTransfer) {
  LaneClock clock;
  {
    LaneClock::Wait wait(clock);
    wait.posted_at(Clock::now() + std::chrono::hours(1));
    pass(100);
  }
  EXPECT_EQ(clock.times()[Lane::kTransferWait], 0.0);
}

}  // namespace
}  // namespace cadenza
