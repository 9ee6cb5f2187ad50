#include "base/interrupt.h"

#include <atomic>
#include <csignal>

#include "base/error.h"

namespace cadenza {
namespace {

std::atomic<bool> g_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

void on_signal(int signal) {
  if (g_requested.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void install_interrupt_handler() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

bool interrupt_requested() { return g_requested.load(); }

void throw_if_interrupted() {
  if (interrupt_requested()) throw Interrupted("interrupted");
}

}  // namespace cadenza
