#pragma once

#include <functional>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "base/deadline.h"
#include "comm/rendezvous.h"

namespace cadenza {

/// The key-value store at which ranks meet (TCPStore on host:port) and leave word when they go.
/// Rank 0 serves it unless someone else does. After the meeting it is only asked for reasons: a
/// store that is gone or stuck costs a better message, never the run.
class Meeting {
 public:
  /// Opens or reaches the store. PeerError naming rank 0 when it cannot be reached by the deadline,
  /// ConfigError when rank 0 cannot serve on the port.
  Meeting(const Rendezvous& rendezvous, Deadline deadline);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  /// Returns when all ranks have come. PeerError that says how many came and which are missing.
  void call_roll(Deadline deadline);

  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }

  /// Leaves word why this rank goes. Best effort, bounded.
  void say_left(const std::string& reason);

  /// What `peer` said when it left; nothing when it said nothing or the store does not answer.
  std::optional<std::string> reason_of(Rank peer);

  /// Where this rank serves the store: waits, bounded, until the other ranks have left, too, except
  /// those in `silent`, so that they can still read each other's reasons.
  void linger(const std::vector<bool>& silent);

 private:
  [[noreturn]] void fail_roll_call(const std::vector<Rank>& missing, double seconds);
  template <typename Answer>
  std::optional<Answer> ask(std::function<Answer()> question);

  Rendezvous rendezvous_;
  c10::intrusive_ptr<c10d::Store> store_;
  bool answers_ = true;  // false once the store failed or was too slow: not asked again
};

}  // namespace cadenza
