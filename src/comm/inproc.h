#pragma once

#include <memory>
#include <vector>

#include "comm/group.h"

namespace cadenza {

/// The ends of a group whose ranks are threads of this process. Each end may be moved to its
/// thread.
std::vector<std::unique_ptr<Group>> make_inproc_groups(int size);

}  // namespace cadenza
