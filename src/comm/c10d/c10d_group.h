#pragma once

#include <memory>

#include "comm/group.h"
#include "comm/rendezvous.h"

namespace cadenza {

/// Joins the ranks of `rendezvous` over c10d (TCPStore, ProcessGroupGloo). PeerError when not all
/// of them have joined by the deadline.
std::unique_ptr<Group> join_c10d(const Rendezvous& rendezvous, Deadline deadline);

}  // namespace cadenza
