#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "base/deadline.h"
#include "base/interrupt.h"

namespace cadenza {

/// Ends a blocking wait of one thread from outside, at a deadline or when the user asks to stop:
/// Gloo's own timeouts are out of the question, since one that passes closes the pairs with all
/// peers.
class Watchdog {
 public:
  Watchdog() : thread_([this] { watch(); }) {}

  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  /// While it lives, the owner's wait is watched. `abort` must make it return, and be harmless when
  /// it just has.
  class Guard {
   public:
    Guard(Watchdog& dog, Deadline deadline, std::function<void()> abort) : dog_(dog) {
      const std::lock_guard lock(dog_.mutex_);
      dog_.deadline_ = deadline;
      dog_.abort_ = std::move(abort);
    }
    ~Guard() {
      const std::lock_guard lock(dog_.mutex_);
      dog_.abort_ = nullptr;
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Watchdog& dog_;
  };

 private:
  /// How late a deadline or Ctrl-C may be noticed. Looking costs nothing measurable at this pace.
  static constexpr std::chrono::milliseconds kPoll{20};

  void watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kPoll, [this] { return stop_; })) {
      if (abort_ && (deadline_.passed() || interrupt_requested())) abort_();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  Deadline deadline_ = Deadline::after_seconds(0);
  std::function<void()> abort_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace cadenza
