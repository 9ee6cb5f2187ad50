#pragma once

#include <functional>

#include "comm/group.h"

namespace cadenza {

/// Runs body(group) on `ranks` threads, one inproc end each, and returns when all have ended. The
/// first exception in rank order that is not a PeerError is thrown again (else the first
/// PeerError); a rank that throws leaves its group, so that the others end.
void spawn_ranks(int ranks, const std::function<void(Group&)>& body);

}  // namespace cadenza
