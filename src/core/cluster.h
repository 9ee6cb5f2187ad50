#pragma once

#include <cstddef>
#include <vector>

namespace cadenza {

/// The servers that a plan may use.
struct Cluster {
  int servers = 1;
  std::vector<double> speeds;  // relative; empty = all 1

  double speed(int server) const {
    return speeds.empty() ? 1.0 : speeds[static_cast<size_t>(server)];
  }
};

}  // namespace cadenza
