#pragma once

#include <cstddef>
#include <string>

#include "base/deadline.h"
#include "base/error.h"
#include "comm/group.h"

namespace cadenza {

/// One posted message as an error about it tells it: who waits for whom, for what, and since when.
struct WaitReport {
  const char* transport = "";
  Rank rank = 0;
  Rank peer = 0;
  Tag tag = 0;
  size_t bytes = 0;
  bool is_send = false;
};

/// "[comm/gloo] rank 0 waited 5.0 s to receive 4096 bytes (tag 3) from rank 2: WHY".
std::string wait_text(const WaitReport& report, Deadline::Clock::time_point since,
                      const std::string& why);

/// The errors of Transfer::wait that name report.peer.
PeerError deadline_error(const WaitReport& report, Deadline::Clock::time_point since);
PeerError left_error(const WaitReport& report, Deadline::Clock::time_point since,
                     const std::string& reason);

/// Both ends know the size beforehand, so a difference is our bug.
InternalError size_error(const WaitReport& report, size_t other_bytes);

}  // namespace cadenza
