#pragma once

#include <vector>

#include "planner/key_homes.h"

namespace cadenza {

/// A task in its round, and the circle of servers inside which its keys are passed on.
struct RingTask {
  KeyedTask keyed;
  int circle = 0;
};

/// Keys that go round: a server gets a row from whoever of its circle got it last, and the first
/// of the circle gets it from the row's home. So a row leaves its home once per circle and makes
/// one hop for every other server that needs it; servers whose masks need none of a row are left
/// out of its way. Sets `via`, and cuts a task where its keys come from different servers.
///
/// Requires that keys of one home reach one server in one round, and of one circle no two servers
/// in the same round: on a ring, round t brings the keys of rank r - t to rank r.
///
/// Every `via` is legal: whoever got the row last did so in an earlier round. O(n log n), and for
/// each task the stretches of its keys that were last seen at different servers.
std::vector<Task> pass_on(std::vector<RingTask> tasks);

}  // namespace cadenza
