#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "comm/group.h"

namespace cadenza {

/// All of them: every rank calls with the same sizes; PeerError as Transfer::wait.

void barrier(Group& group, Deadline deadline);

/// Every rank gets root's bytes; sizes need not be known beforehand.
std::string broadcast(Group& group, Rank root, const std::string& bytes, Deadline deadline);

/// Entry r of the result is what rank r gave.
std::vector<std::string> all_gather(Group& group, const std::string& bytes, Deadline deadline);

/// In-place sum over ranks, added in rank order, so that all ranks hold the same bits whatever the
/// transport. Each rank reduces one part and sends it round: 2 (n - 1) / n of the buffer leave each
/// rank.
void all_reduce_sum(Group& group, std::span<float> values, Deadline deadline);
void all_reduce_sum(Group& group, std::span<double> values, Deadline deadline);

}  // namespace cadenza
