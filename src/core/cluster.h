#pragma once

#include <cstddef>
#include <vector>

namespace cadenza {

/// The servers that a plan may use, and which of them share a node: links inside a node are near,
/// links between nodes are far.
struct Cluster {
  int servers = 1;
  std::vector<double> speeds;  // relative; empty = all 1; 0 = holds tokens, computes nothing
  int servers_per_node = 0;    // consecutive ranks share a node; 0 = all do

  double speed(int server) const {
    return speeds.empty() ? 1.0 : speeds[static_cast<size_t>(server)];
  }
  int node_of(int server) const { return servers_per_node == 0 ? 0 : server / servers_per_node; }
  bool near(int a, int b) const { return node_of(a) == node_of(b); }
};

}  // namespace cadenza
