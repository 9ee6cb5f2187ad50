#pragma once

#include <cstdint>

#include "base/lane_clock.h"
#include "comm/group.h"
#include "kernels/backend.h"

namespace cadenza {

/// With whom and with what a rank computes, and where its time and bytes are noted.
struct AttentionContext {
  Group& group;
  Backend& backend;
  LaneClock& clock;
  double deadline_seconds = 60;  // the longest single wait for a peer
  int64_t sent_bytes = 0;        // to other ranks, stamps left out

  Deadline deadline() const { return Deadline::after_seconds(deadline_seconds); }
};

}  // namespace cadenza
