#include "comm/c10d/meeting.h"

#include <c10/util/Logging.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "comm/c10d/first_line.h"

namespace cadenza {
namespace {

using Milliseconds = std::chrono::milliseconds;

/// The longest that a question about a reason may take: it only improves a message.
constexpr Milliseconds kAskLimit{1000};

/// How long rank 0 keeps the store open for ranks that are still about to leave. Those that compute
/// on for longer lose nothing but each other's reasons.
constexpr double kLingerSeconds = 3.0;

/// How often the roll is called.
constexpr Milliseconds kRollPoll{20};

/// One attempt to reach the store; between attempts Ctrl-C is heard.
constexpr double kAttemptSeconds = 2.0;

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }
std::string text_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string left_key(Rank rank) { return cat("left/", rank); }
std::string here_key(Rank rank) { return cat("here/", rank); }
constexpr const char* kFailedKey = "roll_call_failed";

/// The agent of torchrun keeps its store over restarts, so each attempt has its own keys.
std::string key_prefix() {
  const char* attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
  return cat("cadenza/", attempt == nullptr ? "0" : attempt);
}

std::optional<std::string> get_if_there(c10d::Store& store, const std::string& key) {
  if (!store.check({key})) return std::nullopt;
  return text_of(store.get(key));
}

/// While one lives, libtorch prints no warnings: a lost store makes it print a stack trace, where
/// our own error says the same in a line. Unless the user asked for them.
class QuietTorch {
 public:
  QuietTorch() {
    const std::lock_guard lock(mutex_);
    if (alive_++ > 0 || std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return;
    usual_level_ = FLAGS_caffe2_log_level;
    FLAGS_caffe2_log_level = kFatalOnly;
  }
  ~QuietTorch() {
    const std::lock_guard lock(mutex_);
    if (--alive_ > 0 || !usual_level_) return;
    FLAGS_caffe2_log_level = *usual_level_;
    usual_level_.reset();
  }
  QuietTorch(const QuietTorch&) = delete;
  QuietTorch& operator=(const QuietTorch&) = delete;

 private:
  static constexpr int kFatalOnly = 3;
  static inline std::mutex mutex_;
  static inline int alive_ = 0;
  static inline std::optional<int> usual_level_;
};

Milliseconds milliseconds_until(Deadline deadline, double at_most_seconds) {
  const double seconds = std::clamp(deadline.remaining_seconds(), 0.1, at_most_seconds);
  return Milliseconds(static_cast<int64_t>(seconds * 1000));
}

c10d::TCPStoreOptions store_options(const Rendezvous& rendezvous, Milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(rendezvous.port);
  options.isServer = rendezvous.rank == 0 && !rendezvous.store_is_served;
  options.waitWorkers = false;  // the roll call says who is missing; TCPStore would not
  options.timeout = timeout;
  return options;
}

c10::intrusive_ptr<c10d::Store> serve_store(const Rendezvous& rendezvous, Deadline deadline) {
  const auto options = store_options(rendezvous, milliseconds_until(deadline, 3600));
  try {
    return c10::make_intrusive<c10d::TCPStore>(rendezvous.host, options);
  } catch (const std::exception& error) {
    throw ConfigError(cat("[comm/gloo] expected to serve the meeting point of the ranks on port ",
                          rendezvous.port, ", got: ", first_line(error.what()),
                          "; give another MASTER_PORT"));
  }
}

c10::intrusive_ptr<c10d::Store> reach_store(const Rendezvous& rendezvous, Deadline deadline) {
  const QuietTorch quiet;
  for (;;) {
    const auto options = store_options(rendezvous, milliseconds_until(deadline, kAttemptSeconds));
    try {
      return c10::make_intrusive<c10d::TCPStore>(rendezvous.host, options);
    } catch (const std::exception& error) {
      throw_if_interrupted();
      if (deadline.passed()) {
        throw PeerError(0, cat("[comm/gloo] rank ", rendezvous.rank, " of ", rendezvous.size,
                               " expected the meeting point at ", rendezvous.host, ":",
                               rendezvous.port, ", got: ", first_line(error.what()),
                               "; see whether rank 0 runs and MASTER_ADDR, MASTER_PORT are its"));
      }
    }
  }
}

}  // namespace

Meeting::Meeting(const Rendezvous& rendezvous, Deadline deadline) : rendezvous_(rendezvous) {
  const bool serves = rendezvous.rank == 0 && !rendezvous.store_is_served;
  auto store = serves ? serve_store(rendezvous, deadline) : reach_store(rendezvous, deadline);
  store_ = c10::make_intrusive<c10d::PrefixStore>(key_prefix(), std::move(store));
}

Meeting::~Meeting() = default;

/// Asks on a thread of its own and gives up after kAskLimit: a store whose host is stopped answers
/// nothing, ever. The thread is then left behind knowingly; it holds nothing but the store.
template <typename Answer>
std::optional<Answer> Meeting::ask(std::function<Answer()> question) {
  if (!answers_) return std::nullopt;
  const QuietTorch quiet;
  std::packaged_task<Answer()> task(std::move(question));
  auto answer = task.get_future();
  std::thread thread(std::move(task));
  answers_ = answer.wait_for(kAskLimit) == std::future_status::ready;
  if (!answers_) {
    thread.detach();
    return std::nullopt;
  }
  thread.join();
  try {
    return answer.get();
  } catch (const std::exception&) {
    answers_ = false;
    return std::nullopt;
  }
}

void Meeting::call_roll(Deadline deadline) {
  const QuietTorch quiet;
  const auto since = Deadline::Clock::now();
  std::vector<Rank> missing;
  try {
    if (store_->add(here_key(rendezvous_.rank), 1) != 1) {
      throw ConfigError(cat("[comm/gloo] expected one rank ", rendezvous_.rank, " at ",
                            rendezvous_.host, ":", rendezvous_.port, ", got a second one; ",
                            "give each run its own MASTER_PORT"));
    }
    for (Rank rank = 0; rank < rendezvous_.size; ++rank) missing.push_back(rank);
    for (;;) {
      std::erase_if(missing, [&](Rank rank) { return store_->check({here_key(rank)}); });
      if (missing.empty()) return;
      throw_if_interrupted();
      if (const auto failure = get_if_there(*store_, kFailedKey)) throw PeerError(0, *failure);
      if (deadline.passed()) break;
      std::this_thread::sleep_for(kRollPoll);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw PeerError(0, cat("[comm/gloo] rank ", rendezvous_.rank, " lost the meeting point at ",
                           rendezvous_.host, ":", rendezvous_.port, ": ", first_line(error.what()),
                           "; see why rank 0 ended"));
  }
  fail_roll_call(missing, std::chrono::duration<double>(Deadline::Clock::now() - since).count());
}

void Meeting::fail_roll_call(const std::vector<Rank>& missing, double seconds) {
  std::string names;
  for (const Rank rank : missing) names += cat(names.empty() ? "" : ", ", rank);
  const size_t came = static_cast<size_t>(rendezvous_.size) - missing.size();
  const std::string text =
      cat("[comm/gloo] expected ", rendezvous_.size, " ranks at ", rendezvous_.host, ":",
          rendezvous_.port, ", got ", came, " within ", seconds, " s; missing: rank ", names,
          "; see their messages, or allow more time");
  // The others read it in their own roll call, which ends when this store does.
  ask<bool>([store = store_, text] {
    store->set(kFailedKey, bytes_of(text));
    return true;
  });
  if (rendezvous_.rank == 0) std::this_thread::sleep_for(10 * kRollPoll);
  throw PeerError(missing.front(), text);
}

void Meeting::say_left(const std::string& reason) {
  ask<bool>([store = store_, key = left_key(rendezvous_.rank), reason] {
    store->set(key, bytes_of(reason));
    return true;
  });
}

std::optional<std::string> Meeting::reason_of(Rank peer) {
  using Reason = std::optional<std::string>;
  return ask<Reason>([store = store_, key = left_key(peer)] { return get_if_there(*store, key); })
      .value_or(std::nullopt);
}

void Meeting::linger(const std::vector<bool>& silent) {
  if (rendezvous_.rank != 0 || rendezvous_.store_is_served) return;
  std::vector<std::string> keys;
  for (Rank rank = 1; rank < rendezvous_.size; ++rank) {
    if (!silent[static_cast<size_t>(rank)]) keys.push_back(left_key(rank));
  }
  const auto deadline = Deadline::after_seconds(kLingerSeconds);
  const auto all_left = [store = store_, keys] { return keys.empty() || store->check(keys); };
  while (!deadline.passed() && !interrupt_requested() && !ask<bool>(all_left).value_or(true)) {
    std::this_thread::sleep_for(Milliseconds(10));
  }
}

}  // namespace cadenza
