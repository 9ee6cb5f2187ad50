#include "base/lane_clock.h"

#include <algorithm>
#include <numeric>

namespace cadenza {

const char* lane_name(Lane lane) {
  constexpr std::array<const char*, kLanes> kNames{
      "segment",        "attention", "pack", "unpack", "transfer_wait",
      "imbalance_wait", "reduce",    "plan", "update", "other"};
  return kNames[static_cast<size_t>(lane)];
}

double LaneTimes::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

LaneTimes& LaneTimes::operator+=(const LaneTimes& other) {
  for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += other.seconds[i];
  return *this;
}

void LaneClock::restart() {
  times_ = {};
  lane_ = Lane::kOther;
  since_ = Clock::now();
}

LaneTimes LaneClock::times() {
  enter(lane_);
  return times_;
}

void LaneClock::enter_at(Lane lane, Clock::time_point now) {
  times_[lane_] += std::chrono::duration<double>(now - since_).count();
  since_ = now;
  lane_ = lane;
}

LaneClock::Wait::~Wait() {
  const auto now = Clock::now();
  clock_.enter_at(Lane::kTransferWait, std::clamp(posted_at_, clock_.since_, now));
  clock_.enter_at(before_, now);
}

}  // namespace cadenza
