#include "train/rank_status.h"

#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "comm/collectives.h"

namespace cadenza {
namespace {

/// The part of a status that is plain bytes; ranks of one run are of one build.
struct Numbers {
  double loss_sum;
  PassTimes times;
  double predicted_attention;
  int64_t peak_memory_bytes;
};
static_assert(std::is_trivially_copyable_v<Numbers>);

}  // namespace

std::vector<RankStatus> exchange_status(Group& group, const RankStatus& mine, Deadline deadline) {
  const Numbers numbers{mine.loss_sum, mine.times, mine.predicted_attention,
                        mine.peak_memory_bytes};
  std::string bytes(sizeof(Numbers), '\0');
  std::memcpy(bytes.data(), &numbers, sizeof(Numbers));

  std::vector<RankStatus> all;
  for (const std::string& message : all_gather(group, bytes + mine.trouble, deadline)) {
    CADENZA_CHECK(message.size() >= sizeof(Numbers), message.size(), " bytes");
    Numbers theirs;
    std::memcpy(&theirs, message.data(), sizeof(Numbers));
    all.push_back({theirs.loss_sum, theirs.times, theirs.predicted_attention,
                   theirs.peak_memory_bytes, message.substr(sizeof(Numbers))});
  }
  return all;
}

}  // namespace cadenza
