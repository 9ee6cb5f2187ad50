#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/deadline.h"
#include "base/memory.h"
#include "comm/group.h"

/// Messages that own their bytes: packed once by the sender, read once by the receiver, freed as
/// soon as either is done. Behind its bytes each carries the moment at which it was posted, which
/// tells a receiver whether it waited for the peer or for the wire. Over any Group.
namespace cadenza {

/// A block to pack into.
class Message {
 public:
  explicit Message(int64_t bytes);
  std::byte* data() const { return block_.data(); }
  int64_t bytes() const { return bytes_; }

 private:
  friend class PostedMessage;
  int64_t bytes_;
  HostBlock block_;  // bytes, then the stamp; nothing where there are no bytes
};

/// A message on its way to a peer.
class PostedMessage {
 public:
  /// Stamps and posts. Never blocks on the peer. An empty message is not sent at all.
  PostedMessage(Group& group, Rank peer, Tag tag, Message message);
  /// Until it is sent; frees its bytes. May last until the peer expects it. Errors as
  /// Transfer::wait.
  void wait(Deadline deadline);

 private:
  Message message_;
  std::unique_ptr<Transfer> transfer_;
};

/// A message that a peer posts, now or later.
class ExpectedMessage {
 public:
  /// Both ends know the size.
  ExpectedMessage(Group& group, Rank peer, Tag tag, int64_t bytes);
  /// The bytes, when they are there. Errors as Transfer::wait.
  std::span<const std::byte> wait(Deadline deadline);
  /// When its sender posted it, by this host's steady clock; of ranks on other hosts, by theirs.
  /// After wait().
  Deadline::Clock::time_point posted_at() const { return posted_at_; }
  Rank peer() const { return peer_; }

 private:
  friend size_t wait_any(Group& group, std::span<ExpectedMessage* const> messages,
                         Deadline deadline);
  void read_stamp();

  Rank peer_;
  int64_t bytes_;
  HostBlock block_;
  std::unique_ptr<Transfer> transfer_;  // null once it is there
  Deadline::Clock::time_point posted_at_;
};

/// Waits until one of the messages, at least one, is there, whichever comes first: its index.
/// Errors as Transfer::wait, of any of the peers.
size_t wait_any(Group& group, std::span<ExpectedMessage* const> messages, Deadline deadline);

}  // namespace cadenza
