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
  double predicted_attention;
  int64_t peak_memory_bytes;
};

template <typename T>
std::string bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

template <typename T>
T value_in(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  CADENZA_CHECK(bytes.size() >= sizeof(T), bytes.size(), " bytes");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

std::vector<RankStatus> exchange_status(Group& group, const RankStatus& mine, Deadline deadline) {
  const Numbers numbers{mine.loss_sum, mine.predicted_attention, mine.peak_memory_bytes};
  std::vector<RankStatus> all;
  for (const std::string& message : all_gather(group, bytes_of(numbers) + mine.trouble, deadline)) {
    const auto theirs = value_in<Numbers>(message);
    all.push_back({theirs.loss_sum, theirs.predicted_attention, theirs.peak_memory_bytes,
                   message.substr(sizeof(Numbers))});
  }
  return all;
}

std::vector<RankTimes> exchange_times(Group& group, const RankTimes& mine, Deadline deadline) {
  std::vector<RankTimes> all;
  for (const std::string& message : all_gather(group, bytes_of(mine), deadline))
    all.push_back(value_in<RankTimes>(message));
  return all;
}

}  // namespace cadenza
