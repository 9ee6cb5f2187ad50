#pragma once

#include <array>
#include <chrono>

namespace cadenza {

/// What a rank spends its time on. At every moment of a step it is in exactly one lane.
enum class Lane {
  kSegment,        // context-independent part of the model
  kAttention,      // attention kernels, and the buffers that they fill
  kPack,           // rows into messages
  kUnpack,         // rows out of messages: placing, merging, adding; rounding sums
  kTransferWait,   // for a message that its sender has posted
  kImbalanceWait,  // for a rank that has not got that far
  kReduce,         // gradients over ranks
  kPlan,           // planning, agreeing, compiling, as far as the step waits for it
  kUpdate,         // optimizer
  kOther,
};
inline constexpr int kLanes = 10;
/// As metrics have it: "segment", "transfer_wait", ...
const char* lane_name(Lane lane);

/// Seconds by lane.
struct LaneTimes {
  std::array<double, kLanes> seconds{};

  double& operator[](Lane lane) { return seconds[static_cast<size_t>(lane)]; }
  double operator[](Lane lane) const { return seconds[static_cast<size_t>(lane)]; }
  double total() const;
  LaneTimes& operator+=(const LaneTimes& other);
};

/// Splits a rank's time into lanes. Times sum to the clock's whole run by construction: changing
/// the lane reads the clock once, and gives what has passed to the lane that was left. One thread.
class LaneClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts in kOther.
  LaneClock() { restart(); }
  void restart();
  /// Of all lanes until now.
  LaneTimes times();

  /// Stays in a lane for a scope, then returns to the one before.
  class Scope {
   public:
    Scope(LaneClock& clock, Lane lane) : clock_(clock), before_(clock.lane_) { clock.enter(lane); }
    ~Scope() { clock_.enter(before_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    LaneClock& clock_;
    Lane before_;
  };

  /// Waits for a message for a scope. What passes before the message was posted is imbalance, what
  /// passes afterwards is transfer; without a word on that, all of it is imbalance.
  class Wait {
   public:
    explicit Wait(LaneClock& clock) : clock_(clock), before_(clock.lane_) {
      clock.enter(Lane::kImbalanceWait);
    }
    ~Wait();
    void posted_at(Clock::time_point time) { posted_at_ = time; }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    LaneClock& clock_;
    Lane before_;
    Clock::time_point posted_at_ = Clock::time_point::max();
  };

 private:
  void enter(Lane lane) { enter_at(lane, Clock::now()); }
  void enter_at(Lane lane, Clock::time_point now);

  LaneTimes times_;
  Lane lane_ = Lane::kOther;
  Clock::time_point since_;
};

}  // namespace cadenza
