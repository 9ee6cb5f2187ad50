#include "comm/collectives.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"

// Collectives out of single messages, so that an error names the peer that was waited for and a
// lost peer spoils nothing but what needs it. All are direct (each pair of ranks talks itself): n -
// 1 messages leave a rank, which suits the tens of ranks and the small control data they are used
// for.
namespace cadenza {
namespace {

enum CollectiveTag : Tag {
  kBarrierTag = kFirstCollectiveTag,
  kSizeTag,
  kBytesTag,
  kReduceTag,
  kReducedTag,
};

using Transfers = std::vector<std::unique_ptr<Transfer>>;

void wait_all(const Transfers& transfers, Deadline deadline) {
  for (const auto& transfer : transfers) {
    if (transfer) transfer->wait(deadline);
  }
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

/// Sends `mine` to every other rank and fills into[r] with what rank r sends; into[rank] is left.
void exchange_with_all(Group& group, Tag tag, std::span<const std::byte> mine,
                       const std::vector<std::span<std::byte>>& into, Deadline deadline) {
  Transfers receives, sends;
  for (Rank peer = 0; peer < group.size(); ++peer) {
    if (peer == group.rank()) continue;
    receives.push_back(group.post_receive(peer, tag, into[static_cast<size_t>(peer)]));
    sends.push_back(group.post_send(peer, tag, mine));
  }
  wait_all(receives, deadline);
  wait_all(sends, deadline);
}

std::vector<uint64_t> all_gather_sizes(Group& group, uint64_t mine, Deadline deadline) {
  std::vector<uint64_t> sizes(static_cast<size_t>(group.size()), mine);
  std::vector<std::span<std::byte>> into;
  for (auto& size : sizes) into.push_back(std::as_writable_bytes(std::span(&size, 1)));
  const uint64_t sent = mine;
  exchange_with_all(group, kSizeTag, bytes_of(sent), into, deadline);
  return sizes;
}

/// Part r of n values, the one that rank r reduces: sizes differ by at most one.
template <typename T>
std::span<T> part_of(std::span<T> values, Rank rank, int ranks) {
  const size_t n = values.size(), r = static_cast<size_t>(rank), size = static_cast<size_t>(ranks);
  // n / size × r + min(r, n mod size): does not overflow as n × r may.
  const auto begin = [&](size_t i) { return n / size * i + std::min(i, n % size); };
  return values.subspan(begin(r), begin(r + 1) - begin(r));
}

/// My part summed over all ranks. Addition is in rank order, 0 first, whatever arrives first: the
/// result has the same bits on every transport and in every run.
template <typename T>
std::vector<T> reduce_my_part(Group& group, std::span<T> values, Deadline deadline) {
  const auto mine = part_of(values, group.rank(), group.size());
  std::vector<std::vector<T>> parts(static_cast<size_t>(group.size()));
  Transfers receives(parts.size()), sends;
  for (Rank peer = 0; peer < group.size(); ++peer) {
    const auto p = static_cast<size_t>(peer);
    if (peer == group.rank()) {
      parts[p].assign(mine.begin(), mine.end());
      continue;
    }
    parts[p].resize(mine.size());
    receives[p] = group.post_receive(peer, kReduceTag, std::as_writable_bytes(std::span(parts[p])));
    sends.push_back(
        group.post_send(peer, kReduceTag, std::as_bytes(part_of(values, peer, group.size()))));
  }
  wait_all(receives, deadline);
  for (size_t r = 1; r < parts.size(); ++r) {
    for (size_t i = 0; i < mine.size(); ++i) parts[0][i] += parts[r][i];
  }
  wait_all(sends, deadline);
  return std::move(parts[0]);
}

template <typename T>
void all_reduce_sum_of(Group& group, std::span<T> values, Deadline deadline) {
  const std::vector<T> reduced = reduce_my_part(group, values, deadline);
  const auto mine = part_of(values, group.rank(), group.size());
  std::copy(reduced.begin(), reduced.end(), mine.begin());
  std::vector<std::span<std::byte>> into;
  for (Rank peer = 0; peer < group.size(); ++peer) {
    into.push_back(std::as_writable_bytes(part_of(values, peer, group.size())));
  }
  exchange_with_all(group, kReducedTag, std::as_bytes(std::span(reduced)), into, deadline);
}

}  // namespace

void barrier(Group& group, Deadline deadline) {
  std::vector<std::byte> received(static_cast<size_t>(group.size()));
  std::vector<std::span<std::byte>> into;
  for (auto& byte : received) into.push_back(std::span(&byte, 1));
  const std::byte sent{1};
  exchange_with_all(group, kBarrierTag, bytes_of(sent), into, deadline);
}

std::string broadcast(Group& group, Rank root, const std::string& bytes, Deadline deadline) {
  CADENZA_CHECK(root >= 0 && root < group.size(), "root ", root);
  uint64_t size = bytes.size();
  if (group.rank() != root) {
    group.post_receive(root, kSizeTag, std::as_writable_bytes(std::span(&size, 1)))->wait(deadline);
    std::string received(size, '\0');
    group.post_receive(root, kBytesTag, std::as_writable_bytes(std::span(received)))
        ->wait(deadline);
    return received;
  }
  Transfers sends;
  for (Rank peer = 0; peer < group.size(); ++peer) {
    if (peer == root) continue;
    sends.push_back(group.post_send(peer, kSizeTag, bytes_of(size)));
    sends.push_back(group.post_send(peer, kBytesTag, std::as_bytes(std::span(bytes))));
  }
  wait_all(sends, deadline);
  return bytes;
}

std::vector<std::string> all_gather(Group& group, const std::string& bytes, Deadline deadline) {
  const std::vector<uint64_t> sizes = all_gather_sizes(group, bytes.size(), deadline);
  std::vector<std::string> gathered;
  for (const uint64_t size : sizes) gathered.emplace_back(size, '\0');
  gathered[static_cast<size_t>(group.rank())] = bytes;
  std::vector<std::span<std::byte>> into;
  for (auto& text : gathered) into.push_back(std::as_writable_bytes(std::span(text)));
  exchange_with_all(group, kBytesTag, std::as_bytes(std::span(bytes)), into, deadline);
  return gathered;
}

void all_reduce_sum(Group& group, std::span<float> values, Deadline deadline) {
  all_reduce_sum_of(group, values, deadline);
}

void all_reduce_sum(Group& group, std::span<double> values, Deadline deadline) {
  all_reduce_sum_of(group, values, deadline);
}

}  // namespace cadenza
