#include "comm/c10d/c10d_group.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

// The only file that sees Gloo's headers: they are the distribution's, the code is libtorch's own.
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "base/check.h"
#include "base/interrupt.h"
#include "comm/c10d/first_line.h"
#include "comm/c10d/meeting.h"
#include "comm/c10d/waiter_threads.h"
#include "comm/c10d/watchdog.h"
#include "comm/wait_report.h"

// Messages over c10d's ProcessGroupGloo::send and recv, one work each, never a collective.
//
// Deadlines are ours. Where a wait times out inside Gloo it closes the pairs with all peers, so
// Gloo waits as good as forever and a watchdog aborts the one wait whose deadline passes; an
// aborted work is still posted and may be waited for again.
//
// Sizes are checked by matching. Gloo fills a buffer partly without a word where the sender sends
// less, and ends the process where it sends more. So a message goes under c10d's tag
//     our tag × 2^13 + 13 bits of a hash of (its number within our tag, its size).
// Both ends count, so equal posts meet. Posts of different sizes do not (but for 1 in 8192): both
// sides' waits end at their deadlines. Messages of one tag that share a hash are matched in order
// of posting by Gloo itself, so a collision between sizes that agree is harmless.
//
// Empty messages are counted and complete at once, without the wire.
//
// Nothing of c10d's tells whether a work is done but its wait, which blocks. So who waits for any
// of several has each waited for by a thread (comm/c10d/waiter_threads.h), which says how it ended.
namespace cadenza {
namespace {

using Clock = Deadline::Clock;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

constexpr int kCheckBits = 31 - kTagBits;

/// As good as forever, and small enough to be added to a clock in nanoseconds.
constexpr std::chrono::milliseconds kForever = std::chrono::hours(24 * 365);

/// How late Ctrl-C may be noticed while threads wait.
constexpr std::chrono::milliseconds kInterruptPoll{20};

int wire_tag(Tag tag, uint64_t number, uint64_t bytes) {
  const uint64_t mixed = (number * 0x9e3779b97f4a7c15ull ^ bytes) * 0xbf58476d1ce4e5b9ull;
  return static_cast<int>(tag << kCheckBits | static_cast<Tag>(mixed >> (64 - kCheckBits)));
}

/// "Read error [10.0.0.1]:8581: Connection reset by peer": without Gloo's source line and advice.
std::string gloo_words(const std::exception& error) {
  std::string words = first_line(error.what());
  const size_t place_end = words.find("] ");
  if (words.starts_with('[') && place_end != std::string::npos) words.erase(0, place_end + 2);
  return words.substr(0, words.find(". This is typically"));
}

/// One posted message. The group lets go of `work` when it leaves, whoever still holds the
/// transfer: a work keeps all of Gloo's connections open.
struct Post {
  WaitReport report;
  WorkPtr work;  // null when done, never posted or given up
  bool done = false;
  std::string failure;  // Gloo's words, when posting failed

  /// Where a thread waits for it: how that ended, Gloo's words or empty. Guarded by the group's
  /// mutex.
  bool adopted = false;
  std::optional<std::string> outcome;
};

class C10dGroup : public Group {
 public:
  C10dGroup(const Rendezvous& rendezvous, Deadline deadline);
  ~C10dGroup() override;

  const char* transport() const override { return "gloo"; }
  Rank rank() const override { return rendezvous_.rank; }
  int size() const override { return rendezvous_.size; }
  std::unique_ptr<Transfer> post_send(Rank peer, Tag tag, std::span<const std::byte> data) override;
  std::unique_ptr<Transfer> post_receive(Rank peer, Tag tag, std::span<std::byte> data) override;
  size_t wait_any(std::span<Transfer* const> transfers, Deadline deadline) override;
  void leave(const std::string& reason) override;

  void wait(const std::shared_ptr<Post>& post, Deadline deadline);
  void forget(const std::shared_ptr<Post>& post) {
    end_adopted_wait(*post);
    std::erase(live_, post);
  }

 private:
  void adopt(const std::shared_ptr<Post>& post);
  void end_adopted_wait(Post& post);
  size_t wait_for_threads(std::span<const std::shared_ptr<Post>> posts, Deadline deadline,
                          Clock::time_point since);
  PeerError late(const Post& post, Clock::time_point since);
  std::unique_ptr<Transfer> post(const WaitReport& report, void* data);
  void start(Post& post, void* data);
  bool wait_for_work(const Post& post, Deadline deadline, Clock::time_point since);
  PeerError lost(const WaitReport& report, Clock::time_point since, const std::string& failure);

  Rendezvous rendezvous_;
  std::unique_ptr<Meeting> meeting_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo_;           // null once left
  std::map<std::pair<Rank, Tag>, uint64_t> sent_, received_;  // messages posted so far
  std::vector<std::shared_ptr<Post>> live_;                   // whose transfers are alive
  std::vector<bool> silent_;  // by rank: its connection broke or it missed a deadline
  std::shared_ptr<C10dGroup*> self_ = std::make_shared<C10dGroup*>(this);
  Watchdog watchdog_;
  std::mutex outcomes_mutex_;
  std::condition_variable outcome_known_;
  WaiterThreads waiters_;  // last: its threads use the others
};

/// May outlive its group: the handle is null from then on.
class C10dTransfer : public Transfer {
 public:
  C10dTransfer(std::shared_ptr<C10dGroup*> group, std::shared_ptr<Post> post)
      : group_(std::move(group)), post_(std::move(post)) {}

  ~C10dTransfer() override {
    if (*group_ != nullptr) (*group_)->forget(post_);
  }

  void wait(Deadline deadline) override {
    CADENZA_CHECK(*group_ != nullptr, "the group has gone before its transfer");
    (*group_)->wait(post_, deadline);
  }
  const std::shared_ptr<Post>& post() const { return post_; }

 private:
  std::shared_ptr<C10dGroup*> group_;
  std::shared_ptr<Post> post_;
};

std::shared_ptr<::gloo::transport::Device> open_device(const Rendezvous& rendezvous) {
  using c10d::ProcessGroupGloo;
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  if (interface != nullptr && *interface != '\0') {
    return ProcessGroupGloo::createDeviceForInterface(interface);
  }
  const bool one_host = rendezvous.local_size >= rendezvous.size;
  return one_host ? ProcessGroupGloo::createDeviceForHostname("127.0.0.1")
                  : ProcessGroupGloo::createDefaultDevice();
}

/// Connects every pair of ranks. Here, and only here, Gloo's own timeout is the deadline.
c10::intrusive_ptr<c10d::ProcessGroupGloo> connect(const Rendezvous& rendezvous,
                                                   const c10::intrusive_ptr<c10d::Store>& store,
                                                   Deadline deadline) {
  try {
    const double seconds = std::max(1.0, deadline.remaining_seconds());
    auto options = c10d::ProcessGroupGloo::Options::create(
        std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)));
    options->devices.push_back(open_device(rendezvous));
    options->threads = 1;  // they serve collectives, of which there are none
    auto gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rendezvous.rank, rendezvous.size,
                                                            options);
    gloo->setTimeout(kForever);
    return gloo;
  } catch (const std::exception& error) {
    throw PeerError(-1, cat("[comm/gloo] rank ", rendezvous.rank, " of ", rendezvous.size,
                            " expected a connection with each other rank, got: ", gloo_words(error),
                            "; see whether one ended, and whether ",
                            "GLOO_SOCKET_IFNAME names the right network"));
  }
}

C10dGroup::C10dGroup(const Rendezvous& rendezvous, Deadline deadline)
    : rendezvous_(rendezvous), silent_(static_cast<size_t>(rendezvous.size)) {
  if (rendezvous.size == 1) return;
  meeting_ = std::make_unique<Meeting>(rendezvous, deadline);
  meeting_->call_roll(deadline);
  gloo_ = connect(rendezvous, meeting_->store(), deadline);
}

C10dGroup::~C10dGroup() {
  *self_ = nullptr;
  leave("");
  if (meeting_) meeting_->linger(silent_);
}

std::unique_ptr<Transfer> C10dGroup::post_send(Rank peer, Tag tag,
                                               std::span<const std::byte> data) {
  // A tensor over a buffer wants it writable; a send only reads.
  return post({transport(), rank(), peer, tag, data.size(), true},
              const_cast<std::byte*>(data.data()));
}

std::unique_ptr<Transfer> C10dGroup::post_receive(Rank peer, Tag tag, std::span<std::byte> data) {
  return post({transport(), rank(), peer, tag, data.size(), false}, data.data());
}

std::unique_ptr<Transfer> C10dGroup::post(const WaitReport& report, void* data) {
  CADENZA_CHECK(report.peer >= 0 && report.peer < size() && report.peer != rank(), "peer ",
                report.peer, " of rank ", rank());
  CADENZA_CHECK(report.tag >> kTagBits == 0, "tag ", report.tag);
  CADENZA_CHECK(gloo_, "rank ", rank(), " has left its group");
  auto made = std::make_shared<Post>();
  made->report = report;
  start(*made, data);
  live_.push_back(made);
  return std::make_unique<C10dTransfer>(self_, std::move(made));
}

void C10dGroup::start(Post& post, void* data) {
  const WaitReport& report = post.report;
  const uint64_t number = (report.is_send ? sent_ : received_)[{report.peer, report.tag}]++;
  post.done = report.bytes == 0;
  if (post.done) return;
  const int tag = wire_tag(report.tag, number, report.bytes);
  std::vector<at::Tensor> bytes{
      at::from_blob(data, {static_cast<int64_t>(report.bytes)}, at::kByte)};
  try {
    post.work = report.is_send ? gloo_->send(bytes, report.peer, tag)
                               : gloo_->recv(bytes, report.peer, tag);
  } catch (const std::exception& error) {
    post.failure = gloo_words(error);  // the connection is broken: told by the wait
  }
}

void C10dGroup::wait(const std::shared_ptr<Post>& post, Deadline deadline) {
  if (post->done) return;
  const auto since = Clock::now();
  CADENZA_CHECK(gloo_, "rank ", rank(), " has left its group");
  if (!post->work) throw lost(post->report, since, post->failure);
  if (post->adopted) {
    wait_for_threads({&post, 1}, deadline, since);
    return;
  }
  if (!wait_for_work(*post, deadline, since)) throw late(*post, since);
  post->done = true;
  post->work.reset();
}

size_t C10dGroup::wait_any(std::span<Transfer* const> transfers, Deadline deadline) {
  CADENZA_CHECK(gloo_ && !transfers.empty(), "rank ", rank());
  const auto since = Clock::now();
  std::vector<std::shared_ptr<Post>> posts;
  for (Transfer* transfer : transfers)
    posts.push_back(static_cast<C10dTransfer*>(transfer)->post());
  const auto is_done = std::ranges::find_if(posts, [](const auto& post) { return post->done; });
  if (is_done != posts.end()) return static_cast<size_t>(is_done - posts.begin());
  for (const auto& post : posts) {
    if (!post->work) throw lost(post->report, since, post->failure);
  }
  if (posts.size() == 1) {
    wait(posts.front(), deadline);
    return 0;
  }
  for (const auto& post : posts) adopt(post);
  return wait_for_threads(posts, deadline, since);
}

void C10dGroup::adopt(const std::shared_ptr<Post>& post) {
  if (post->adopted) return;
  post->adopted = true;
  waiters_.run([this, post] {
    std::string outcome;
    try {
      if (!post->work->wait(kForever)) outcome = "the wait was ended";
    } catch (const std::exception& error) {
      outcome = gloo_words(error);
    }
    const std::lock_guard lock(outcomes_mutex_);
    post->outcome = std::move(outcome);
    outcome_known_.notify_all();
  });
}

/// Before its buffer goes, or the group.
void C10dGroup::end_adopted_wait(Post& post) {
  if (!post.adopted) return;
  std::unique_lock lock(outcomes_mutex_);
  if (!post.outcome) post.work->abort();
  outcome_known_.wait(lock, [&] { return post.outcome.has_value(); });
}

size_t C10dGroup::wait_for_threads(std::span<const std::shared_ptr<Post>> posts, Deadline deadline,
                                   Clock::time_point since) {
  std::unique_lock lock(outcomes_mutex_);
  while (true) {
    for (size_t i = 0; i < posts.size(); ++i) {
      Post& post = *posts[i];
      if (!post.outcome) continue;
      if (!post.outcome->empty()) throw lost(post.report, since, *post.outcome);
      post.done = true;
      post.work.reset();
      return i;
    }
    if (deadline.passed() || interrupt_requested()) throw late(*posts.front(), since);
    outcome_known_.wait_until(lock, std::min(deadline.time(), Clock::now() + kInterruptPoll));
  }
}

PeerError C10dGroup::late(const Post& post, Clock::time_point since) {
  throw_if_interrupted();
  silent_[static_cast<size_t>(post.report.peer)] = true;
  return deadline_error(post.report, since);
}

/// False when the watchdog ended the wait.
bool C10dGroup::wait_for_work(const Post& post, Deadline deadline, Clock::time_point since) {
  try {
    const Watchdog::Guard guard(watchdog_, deadline, [&post] { post.work->abort(); });
    return post.work->wait(kForever);
  } catch (const std::exception& error) {
    throw lost(post.report, since, gloo_words(error));
  }
}

PeerError C10dGroup::lost(const WaitReport& report, Clock::time_point since,
                          const std::string& failure) {
  throw_if_interrupted();  // Ctrl-C reaches all ranks: one that has already left is no news
  silent_[static_cast<size_t>(report.peer)] = true;
  if (const auto reason = meeting_->reason_of(report.peer)) {
    return left_error(report, since, *reason);
  }
  return PeerError(report.peer, wait_text(report, since,
                                          cat("rank ", report.peer, " is gone without a word (",
                                              failure, "); see whether it was killed")));
}

void C10dGroup::leave(const std::string& reason) {
  if (!gloo_) return;
  meeting_->say_left(reason);  // before the connections close: that is when the others ask
  for (const auto& post : live_) {
    end_adopted_wait(*post);
    post->work.reset();
  }
  gloo_.reset();
}

/// What joining may take beyond its deadline before the store is held to be stuck: its own errors,
/// which say more, come first.
constexpr double kStuckSeconds = 2.0;

}  // namespace

// On a thread of its own: a store that accepts a connection and then says nothing (rank 0 stopped,
// another program on the port) blocks inside TCPStore without a limit. That thread is then left
// behind knowingly.
std::unique_ptr<Group> join_c10d(const Rendezvous& rendezvous, Deadline deadline) {
  std::packaged_task<std::unique_ptr<Group>()> task(
      [rendezvous, deadline]() -> std::unique_ptr<Group> {
        return std::make_unique<C10dGroup>(rendezvous, deadline);
      });
  auto group = task.get_future();
  std::thread thread(std::move(task));
  const auto since = Clock::now();
  auto stuck = Deadline::after_seconds(deadline.remaining_seconds() + kStuckSeconds);
  bool interrupted = false;
  while (group.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
    if (interrupt_requested() && !interrupted) {
      interrupted = true;
      stuck = Deadline::after_seconds(kStuckSeconds);
    }
    if (!stuck.passed()) continue;
    thread.detach();
    throw_if_interrupted();
    const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
    throw PeerError(0, cat("[comm/gloo] rank ", rendezvous.rank, " of ", rendezvous.size,
                           " expected the ranks to meet at ", rendezvous.host, ":", rendezvous.port,
                           ", got no answer for ", seconds,
                           " s; see whether rank 0 is stopped, and whether MASTER_PORT is its"));
  }
  thread.join();
  return group.get();
}

}  // namespace cadenza
