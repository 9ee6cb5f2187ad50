#include "comm/inproc.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/interrupt.h"
#include "comm/wait_report.h"

// Ranks as threads. One mutex guards everything; each rank sleeps on its own condition variable.
//
// A channel is a (source, target, tag). The k-th send of a channel meets its k-th receive,
// whichever comes first: the second of the two copies the bytes and marks both done. A send that
// comes first keeps a copy, so that it is delivered even when its rank leaves. Still its wait ends
// only when the receive has come: Gloo is as strict, and an order of posts that would block there
// must block here too.
namespace cadenza {
namespace {

using Clock = Deadline::Clock;

/// How long a wait sleeps before it looks whether the user asked to stop.
constexpr std::chrono::milliseconds kInterruptPoll{50};

/// One end of a message. Guarded by Hub::mutex.
struct Post {
  WaitReport report;
  bool done = false;
  std::optional<size_t>
      other_bytes;  // set when it differs from report.bytes: the message is then not delivered
  std::vector<std::byte> kept;  // of a send that came first
  std::span<std::byte> target;  // of a receive; empty once its Transfer is gone
};

using PostPtr = std::shared_ptr<Post>;
using Channel = std::tuple<Rank, Rank, Tag>;  // source, target, tag

/// The posts of a channel that have not met their other end: at most one of the two is not empty.
struct Unmet {
  std::deque<PostPtr> sends;
  std::deque<PostPtr> receives;
};

struct Hub {
  explicit Hub(int size) : wake(static_cast<size_t>(size)), left(static_cast<size_t>(size)) {}

  std::mutex mutex;
  std::vector<std::condition_variable> wake;     // by rank
  std::vector<std::optional<std::string>> left;  // by rank: why it left
  std::map<Channel, Unmet> channels;

  void meet(Post& send, std::span<const std::byte> data, Post& receive);
};

void Hub::meet(Post& send, std::span<const std::byte> data, Post& receive) {
  if (send.report.bytes != receive.report.bytes) {
    send.other_bytes = receive.report.bytes;
    receive.other_bytes = send.report.bytes;
  } else if (!receive.target.empty()) {
    std::memcpy(receive.target.data(), data.data(), data.size());
  }
  send.done = receive.done = true;
  wake[static_cast<size_t>(send.report.rank)].notify_all();
  wake[static_cast<size_t>(receive.report.rank)].notify_all();
}

/// Sleeps until one of the posts, all of one rank, is done: its index.
size_t wait_for_any(Hub& hub, std::span<const PostPtr> posts, Deadline deadline) {
  const auto since = Clock::now();
  const Rank rank = posts.front()->report.rank;
  std::unique_lock lock(hub.mutex);
  while (true) {
    for (size_t i = 0; i < posts.size(); ++i) {
      if (!posts[i]->done) continue;
      if (posts[i]->other_bytes) throw size_error(posts[i]->report, *posts[i]->other_bytes);
      return i;
    }
    throw_if_interrupted();
    for (const PostPtr& post : posts) {
      const auto& left = hub.left[static_cast<size_t>(post->report.peer)];
      if (left) throw left_error(post->report, since, *left);
    }
    if (deadline.passed()) throw deadline_error(posts.front()->report, since);
    const auto until = std::min(deadline.time(), Clock::now() + kInterruptPoll);
    hub.wake[static_cast<size_t>(rank)].wait_until(lock, until);
  }
}

class InprocTransfer : public Transfer {
 public:
  InprocTransfer(std::shared_ptr<Hub> hub, PostPtr post)
      : hub_(std::move(hub)), post_(std::move(post)) {}

  ~InprocTransfer() override {
    const std::lock_guard lock(hub_->mutex);
    post_->target = {};
  }

  void wait(Deadline deadline) override { wait_for_any(*hub_, {&post_, 1}, deadline); }
  const PostPtr& post() const { return post_; }

 private:
  std::shared_ptr<Hub> hub_;
  PostPtr post_;
};

class InprocGroup : public Group {
 public:
  InprocGroup(std::shared_ptr<Hub> hub, Rank rank) : hub_(std::move(hub)), rank_(rank) {}
  ~InprocGroup() override { leave(""); }

  const char* transport() const override { return "inproc"; }
  Rank rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->left.size()); }

  std::unique_ptr<Transfer> post_send(Rank peer, Tag tag, std::span<const std::byte> data) override;
  std::unique_ptr<Transfer> post_receive(Rank peer, Tag tag, std::span<std::byte> data) override;
  size_t wait_any(std::span<Transfer* const> transfers, Deadline deadline) override;
  void leave(const std::string& reason) override;

 private:
  PostPtr new_post(Rank peer, Tag tag, size_t bytes, bool is_send) const;

  std::shared_ptr<Hub> hub_;
  Rank rank_;
};

PostPtr InprocGroup::new_post(Rank peer, Tag tag, size_t bytes, bool is_send) const {
  CADENZA_CHECK(peer >= 0 && peer < size() && peer != rank_, "peer ", peer, " of rank ", rank_);
  CADENZA_CHECK(!hub_->left[static_cast<size_t>(rank_)], "rank ", rank_, " has left its group");
  auto post = std::make_shared<Post>();
  post->report = {transport(), rank_, peer, tag, bytes, is_send};
  return post;
}

std::unique_ptr<Transfer> InprocGroup::post_send(Rank peer, Tag tag,
                                                 std::span<const std::byte> data) {
  const std::lock_guard lock(hub_->mutex);
  auto post = new_post(peer, tag, data.size(), true);
  Unmet& unmet = hub_->channels[{rank_, peer, tag}];
  if (unmet.receives.empty()) {
    post->kept.assign(data.begin(), data.end());
    unmet.sends.push_back(post);
  } else {
    hub_->meet(*post, data, *unmet.receives.front());
    unmet.receives.pop_front();
  }
  return std::make_unique<InprocTransfer>(hub_, std::move(post));
}

std::unique_ptr<Transfer> InprocGroup::post_receive(Rank peer, Tag tag, std::span<std::byte> data) {
  const std::lock_guard lock(hub_->mutex);
  auto post = new_post(peer, tag, data.size(), false);
  post->target = data;
  Unmet& unmet = hub_->channels[{peer, rank_, tag}];
  if (unmet.sends.empty()) {
    unmet.receives.push_back(post);
  } else {
    hub_->meet(*unmet.sends.front(), unmet.sends.front()->kept, *post);
    unmet.sends.pop_front();
  }
  return std::make_unique<InprocTransfer>(hub_, std::move(post));
}

size_t InprocGroup::wait_any(std::span<Transfer* const> transfers, Deadline deadline) {
  CADENZA_CHECK(!transfers.empty());
  std::vector<PostPtr> posts;
  for (Transfer* transfer : transfers)
    posts.push_back(static_cast<InprocTransfer*>(transfer)->post());
  return wait_for_any(*hub_, posts, deadline);
}

void InprocGroup::leave(const std::string& reason) {
  const std::lock_guard lock(hub_->mutex);
  auto& left = hub_->left[static_cast<size_t>(rank_)];
  if (left) return;
  left = reason;
  // Nobody writes into this rank's buffers from here on, and nobody sends to it with success.
  for (auto& [channel, unmet] : hub_->channels) {
    if (std::get<1>(channel) == rank_) unmet.receives.clear();
  }
  for (auto& wake : hub_->wake) wake.notify_all();
}

}  // namespace

std::vector<std::unique_ptr<Group>> make_inproc_groups(int size) {
  CADENZA_CHECK(size >= 1, "size ", size);
  const auto hub = std::make_shared<Hub>(size);
  std::vector<std::unique_ptr<Group>> groups;
  for (Rank rank = 0; rank < size; ++rank)
    groups.push_back(std::make_unique<InprocGroup>(hub, rank));
  return groups;
}

}  // namespace cadenza
