#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/memory.h"
#include "comm/group.h"
#include "kernels/backend.h"
#include "program/rank_program.h"

namespace cadenza {

/// Which rows of a PeerRows a buffer's rows follow.
enum class RowsOf { kQ, kKv };

inline std::span<const RowRun> runs_of(const PeerRows& rows, RowsOf which) {
  return which == RowsOf::kQ ? rows.q : rows.kv;
}

/// One buffer that takes part in an exchange.
struct ExchangePart {
  RowsView view;
  RowsOf rows = RowsOf::kQ;
};

/// What the runtime measures of its exchanges.
struct ExchangeTimes {
  double pack_seconds = 0;  // packing, unpacking, merging, adding
  double wait_seconds = 0;  // waiting for a peer
  int64_t sent_bytes = 0;   // to other ranks
};

/// One exchange between this rank and its peers: to every peer one message, the packed rows of all
/// parts one after another. A message to itself is a copy. Each message completes alone; messages
/// are handed over in the order of ranks, so that sums do not depend on which peer was faster.
class Exchange {
 public:
  /// `tag` is the same on both ends and differs between exchanges that are alive at once.
  Exchange(Group& group, Backend& backend, Tag tag, ExchangeTimes& times)
      : group_(group), backend_(backend), tag_(tag), times_(times) {}

  /// Posts the receives. Message sizes follow from the shapes (a view's dim, and its dtype, in
  /// which the rows travel) and the peers' rows; no data is touched.
  void expect(std::span<const PeerRows> peers, std::span<const ExchangePart> shapes);

  /// Packs and posts the sends.
  void send(std::span<const PeerRows> peers, std::span<const ExchangePart> parts);

  /// Waits for each peer's message, in the order of `peers` given to expect, and hands it over;
  /// `offsets[i]` is where part i begins.
  using Consume =
      std::function<void(const PeerRows& peer, std::span<const std::byte* const> parts)>;
  void receive(double deadline_seconds, const Consume& consume);

  /// Waits until what was sent may be freed, and frees it.
  void finish(double deadline_seconds);

 private:
  struct Message {
    const PeerRows* peer;
    HostBlock block;
    std::unique_ptr<Transfer> transfer;  // null for a message to itself
  };

  int64_t message_bytes(const PeerRows& peer, std::span<const ExchangePart> parts) const;
  void wait(Transfer& transfer, double deadline_seconds);

  Group& group_;
  Backend& backend_;
  Tag tag_;
  ExchangeTimes& times_;
  std::vector<ExchangePart> shapes_;
  std::vector<Message> sends_, receives_;
  HostBlock to_self_;
};

}  // namespace cadenza
