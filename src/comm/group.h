#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/deadline.h"
#include "base/units.h"

namespace cadenza {

/// Messages between a pair of ranks match by tag, and those of one tag in the order in which they
/// were posted. A tag is below 2^kTagBits: c10d's tags have 31 bits, and the rest of them is needed
/// to tell messages of different sizes apart.
using Tag = uint32_t;
inline constexpr int kTagBits = 18;

/// Tags from here on belong to comm/collectives.h.
inline constexpr Tag kFirstCollectiveTag = (1u << kTagBits) - 256;

/// One posted message. Destroying it unfinished is allowed (after an error): the transport then
/// keeps its hands off the buffer, or gives up the peer.
class Transfer {
 public:
  virtual ~Transfer() = default;
  /// Returns when the buffer is sent (may be reused) or filled. Throws PeerError naming the peer,
  /// what was waited for and for how long, when the peer is lost or the deadline passes;
  /// Interrupted on Ctrl-C. A failure of one peer leaves the transfers with the others as they are.
  virtual void wait(Deadline deadline) = 0;
};

/// One rank's end of a group of ranks: posts to single peers, each with its own completion. There
/// is no collective call in here on purpose: a lost peer must not take the others along.
/// Collectives are built on top (comm/collectives.h). Not thread-safe: one thread per rank.
class Group {
 public:
  virtual ~Group() = default;
  virtual const char* transport() const = 0;  // "inproc", "gloo", ...
  virtual Rank rank() const = 0;
  virtual int size() const = 0;

  /// The buffer must stay as it is until the transfer is waited for. Never blocks on the peer.
  /// `peer` != rank(). Empty buffers are legal; they may complete without the peer. A receive whose
  /// size differs from what was sent is an error. The wait for a send may last until the peer has
  /// posted its receive, so post both directions before waiting for either.
  virtual std::unique_ptr<Transfer> post_send(Rank peer, Tag tag,
                                              std::span<const std::byte> data) = 0;
  virtual std::unique_ptr<Transfer> post_receive(Rank peer, Tag tag, std::span<std::byte> data) = 0;

  /// Waits until one of these transfers of this group, at least one, is done, whichever is first,
  /// and returns its index. Throws as Transfer::wait, for any of them.
  virtual size_t wait_any(std::span<Transfer* const> transfers, Deadline deadline) = 0;

  /// Leaves the group, telling the others why: their waits for this rank end with a PeerError that
  /// quotes `reason`. Called by a rank that fails; also (with an empty reason) by the destructor.
  virtual void leave(const std::string& reason) = 0;
};

}  // namespace cadenza
