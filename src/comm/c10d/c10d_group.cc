// Group over torch's c10d: a TCPStore to meet at, ProcessGroupGloo to send and receive. The one file that includes Gloo's headers
// (from the distribution; the code behind them is libtorch's own copy).
//
// Gloo closes every pair of a rank when one wait inside Gloo times out, so no wait inside Gloo ever does: a waiter thread waits there
// without a limit, and the caller waits for the waiter with our deadline. Other peers' transfers go on.
#include "comm/c10d/c10d_group.h"

#include <ATen/ops/from_blob.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cat.h"
#include "base/interrupt.h"
#include "comm/wait_report.h"

namespace cadenza {
namespace {

using Clock = Deadline::Clock;
using std::chrono::milliseconds;

constexpr const char* kTransport = "gloo";
// "For ever" for a wait inside Gloo, small enough for its arithmetic.
constexpr milliseconds kNoLimit = std::chrono::hours(24 * 365);
// How often a wait looks for Ctrl-C and for a peer that has left.
constexpr milliseconds kLook = milliseconds(50);
// How long rank 0 keeps the store alive for ranks that are still ending.
constexpr double kLeaveSeconds = 5;

using StorePtr = c10::intrusive_ptr<c10d::Store>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

milliseconds remaining(Deadline deadline) {
  return milliseconds(std::max<int64_t>(1, static_cast<int64_t>(deadline.remaining_seconds() * 1000)));
}

/// The store's operations, none of which may throw: the store dies with rank 0.
class SharedNotes {
 public:
  explicit SharedNotes(StorePtr store) : store_(std::move(store)) {}

  bool write(const std::string& key, const std::string& value) {
    try {
      store_->set(key, value);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
  std::optional<std::string> read(const std::string& key) {
    try {
      if (!store_->check({key})) return std::nullopt;
      const auto bytes = store_->get(key);
      return std::string(bytes.begin(), bytes.end());
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

 private:
  StorePtr store_;
};

/// How one posted operation stands; shared between the caller and a waiter.
struct Completion {
  std::mutex mutex;
  std::condition_variable changed;
  bool handed_over = false;  // a waiter waits for it
  bool done = false;
  std::string error;  // empty when all went well
};

/// Threads that wait inside Gloo. A caller waits for one operation at a time, so one thread serves until an operation never ends; then
/// another is started. Threads end when their operation is aborted and no work is left.
class Waiters {
 public:
  ~Waiters() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void wait_for(WorkPtr work, std::shared_ptr<Completion> completion) {
    const std::lock_guard lock(mutex_);
    queue_.push_back({std::move(work), std::move(completion)});
    if (idle_ < queue_.size()) threads_.emplace_back([this] { serve(); });
    changed_.notify_one();
  }

 private:
  struct Job {
    WorkPtr work;
    std::shared_ptr<Completion> completion;
  };

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      ++idle_;
      changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
      --idle_;
      if (queue_.empty()) return;
      Job job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      finish(job);
      lock.lock();
    }
  }

  static void finish(Job& job) {
    std::string error;
    try {
      if (!job.work->wait(kNoLimit)) error = "aborted";
    } catch (const std::exception& failure) {
      error = failure.what();
    }
    job.work.reset();
    const std::lock_guard lock(job.completion->mutex);
    job.completion->done = true;
    job.completion->error = error;
    job.completion->changed.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool closed_ = false;
};

std::string left_key(Rank rank) { return cat("left/", rank); }

/// First line of a Gloo error, without its source position.
std::string short_error(const std::string& text) {
  const std::string line = text.substr(0, text.find('\n'));
  const size_t position = line.find("] ");
  return position == std::string::npos ? line : line.substr(position + 2);
}

class GlooTransfer final : public Transfer {
 public:
  GlooTransfer(WorkPtr work, std::string post_error, const WaitReport& report, Waiters& waiters, SharedNotes& notes)
      : work_(std::move(work)), report_(report), waiters_(waiters), notes_(notes),
        completion_(std::make_shared<Completion>()) {
    completion_->done = work_ == nullptr;
    completion_->error = std::move(post_error);
  }

  ~GlooTransfer() override {
    if (work_ == nullptr) return;
    {
      const std::lock_guard lock(completion_->mutex);
      if (completion_->done) return;
    }
    // The buffer may go away now. Gloo drops an operation whose handle is gone; a waiter's is let go by the abort.
    try {
      work_->abort();
    } catch (const std::exception&) {
    }
  }

  void wait(Deadline deadline) override {
    const Clock::time_point since = Clock::now();
    std::unique_lock lock(completion_->mutex);
    if (!completion_->done && !completion_->handed_over) {
      completion_->handed_over = true;
      waiters_.wait_for(work_, completion_);
    }
    while (!completion_->done) {
      const auto look = std::min(deadline.time(), Clock::now() + kLook);
      if (completion_->changed.wait_until(lock, look, [this] { return completion_->done; })) break;
      throw_if_interrupted();
      lock.unlock();
      if (const auto reason = notes_.read(left_key(report_.peer))) throw left_error(report_, since, *reason);
      lock.lock();
      if (!completion_->done && deadline.passed()) throw deadline_error(report_, since);
    }
    if (!completion_->error.empty()) throw_lost(since);
  }

 private:
  [[noreturn]] void throw_lost(Clock::time_point since) {
    throw_if_interrupted();
    if (const auto reason = notes_.read(left_key(report_.peer))) throw left_error(report_, since, *reason);
    throw PeerError(report_.peer,
                    wait_text(report_, since, cat("rank ", report_.peer, " is lost (", short_error(completion_->error), ")")));
  }

  WorkPtr work_;
  const WaitReport report_;
  Waiters& waiters_;
  SharedNotes& notes_;
  std::shared_ptr<Completion> completion_;
};

/// An empty message: nothing to send, nothing to wait for.
class EmptyTransfer final : public Transfer {
 public:
  void wait(Deadline) override {}
};

class GlooGroup final : public Group {
 public:
  GlooGroup(const Rendezvous& place, StorePtr store, c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo)
      : place_(place), notes_(std::move(store)), gloo_(std::move(gloo)) {}

  ~GlooGroup() override {
    leave("");
    if (place_.rank == 0 && !place_.store_is_served) wait_for_others();
  }

  const char* transport() const override { return kTransport; }
  Rank rank() const override { return place_.rank; }
  int size() const override { return place_.size; }

  std::unique_ptr<Transfer> post_send(Rank peer, Tag tag, std::span<const std::byte> data) override {
    // Gloo only reads what is sent; a tensor has no const data.
    return post(peer, tag, {const_cast<std::byte*>(data.data()), data.size()}, /*is_send=*/true);
  }
  std::unique_ptr<Transfer> post_receive(Rank peer, Tag tag, std::span<std::byte> data) override {
    return post(peer, tag, data, /*is_send=*/false);
  }

  void leave(const std::string& reason) override {
    if (left_) return;
    left_ = true;
    notes_.write(left_key(place_.rank), reason);
  }

 private:
  std::unique_ptr<Transfer> post(Rank peer, Tag tag, std::span<std::byte> data, bool is_send) {
    if (data.empty()) return std::make_unique<EmptyTransfer>();
    const WaitReport report{.transport = kTransport, .rank = place_.rank, .peer = peer, .tag = tag,
                            .bytes = data.size(), .is_send = is_send};
    std::vector<at::Tensor> tensors = {at::from_blob(data.data(), {static_cast<int64_t>(data.size())}, at::kByte)};
    WorkPtr work;
    std::string error;
    try {
      const int wire_tag = tag_on_wire(tag, data.size());
      work = is_send ? gloo_->send(tensors, peer, wire_tag) : gloo_->recv(tensors, peer, wire_tag);
    } catch (const std::exception& failure) {
      error = failure.what();
    }
    return std::make_unique<GlooTransfer>(std::move(work), std::move(error), report, waiters_, notes_);
  }

  /// Gloo takes a shorter message than was expected without a word. So a hash of the size is part of the tag (31 bits in c10d): messages
  /// of different sizes never meet, and the mistake ends in an error at the deadline.
  static int tag_on_wire(Tag tag, size_t bytes) {
    constexpr int kHashBits = 31 - kTagBits;
    const uint64_t hash = (static_cast<uint64_t>(bytes) * 0x9e3779b97f4a7c15ull) >> (64 - kHashBits);
    return static_cast<int>((static_cast<uint32_t>(hash) << kTagBits) | tag);
  }

  /// The store lives in this process: the others' last look at it should find it.
  void wait_for_others() {
    const Deadline deadline = Deadline::after_seconds(kLeaveSeconds);
    for (Rank peer = 1; peer < place_.size; ++peer) {
      while (!deadline.passed() && !interrupt_requested() && !notes_.read(left_key(peer))) {
        std::this_thread::sleep_for(milliseconds(5));
      }
    }
  }

  const Rendezvous place_;
  SharedNotes notes_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;
  Waiters waiters_;  // before gloo_ goes, they are done
  bool left_ = false;
};

StorePtr open_store(const Rendezvous& place, Deadline deadline) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(place.port);
  options.isServer = place.rank == 0 && !place.store_is_served;
  options.waitWorkers = false;
  options.timeout = remaining(deadline);
  try {
    return c10::make_intrusive<c10d::PrefixStore>("cadenza", c10::make_intrusive<c10d::TCPStore>(place.host, options));
  } catch (const std::exception& failure) {
    throw PeerError(0, cat("[comm/gloo] rank ", place.rank, options.isServer ? " cannot serve " : " cannot reach rank 0 at ",
                           place.host, ":", place.port, ": ", short_error(failure.what()),
                           "; see whether rank 0 runs and the port is free (MASTER_PORT)"));
  }
}

void await_ranks(SharedNotes& notes, const Rendezvous& place, Deadline deadline) {
  notes.write(cat("joined/", place.rank), "yes");
  std::string missing;
  do {
    throw_if_interrupted();
    missing.clear();
    int count = 0;
    for (Rank rank = 0; rank < place.size; ++rank) {
      if (notes.read(cat("joined/", rank))) continue;
      missing += cat(count++ == 0 ? "" : ", ", rank);
    }
    if (missing.empty()) return;
    std::this_thread::sleep_for(milliseconds(10));
  } while (!deadline.passed());
  throw PeerError(std::atoi(missing.c_str()),
                  cat("[comm/gloo] not all ", place.size, " ranks have joined at ", place.host, ":", place.port,
                      "; missing: rank ", missing, "; see whether they were started and can reach that address"));
}

std::shared_ptr<::gloo::transport::Device> open_device(const Rendezvous& place) {
  if (place.local_size == place.size) return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  if (const char* interface = std::getenv("GLOO_SOCKET_IFNAME")) {
    return c10d::ProcessGroupGloo::createDeviceForInterface(interface);
  }
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

}  // namespace

std::unique_ptr<Group> join_c10d(const Rendezvous& place, Deadline deadline) {
  const StorePtr store = open_store(place, deadline);
  SharedNotes notes(store);
  await_ranks(notes, place, deadline);
  const auto options = c10d::ProcessGroupGloo::Options::create(remaining(deadline));
  options->devices.push_back(open_device(place));
  try {
    auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::PrefixStore>("pairs", store),
                                                            place.rank, place.size, options);
    return std::make_unique<GlooGroup>(place, store, std::move(gloo));
  } catch (const std::exception& failure) {
    throw PeerError(-1, cat("[comm/gloo] rank ", place.rank, " cannot connect to the other ranks: ",
                            short_error(failure.what())));
  }
}

}  // namespace cadenza
