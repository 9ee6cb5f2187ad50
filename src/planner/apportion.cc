#include "planner/apportion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace cadenza {
namespace {

using Order = std::vector<size_t>;

/// From the one that is full first as the common level (share / weight) rises.
Order order_of_filling(std::span<const ShareBound> bounds) {
  const auto full_at = [&](size_t i) {
    return bounds[i].room == 0 ? 0.0 : static_cast<double>(bounds[i].room) / bounds[i].weight;
  };
  Order order(bounds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return full_at(a) < full_at(b); });
  return order;
}

/// Sum of the weights from a place of the order to its end. Summed from there, not by taking away:
/// what remains of a difference may be rounding alone.
std::vector<double> weights_from(std::span<const ShareBound> bounds, const Order& order) {
  std::vector<double> sums(order.size() + 1, 0.0);
  for (size_t i = order.size(); i-- > 0;) sums[i] = sums[i + 1] + bounds[order[i]].weight;
  return sums;
}

/// Gives what rounding down has left, one each, to those that have most room left.
void give_remainder(int64_t left, std::span<const ShareBound> bounds, Order order,
                    std::vector<int64_t>& shares) {
  if (left == 0) return;
  const auto room_left = [&](size_t i) { return bounds[i].room - shares[i]; };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return room_left(a) != room_left(b) ? room_left(a) > room_left(b) : a < b;
  });
  while (left > 0) {
    for (const size_t i : order) {
      if (left == 0 || room_left(i) == 0) break;
      ++shares[i];
      --left;
    }
  }
}

}  // namespace

std::vector<int64_t> apportion(int64_t total, std::span<const ShareBound> bounds) {
  int64_t room = 0;
  for (const ShareBound& bound : bounds) room += bound.room;
  CADENZA_CHECK(room >= total, room, " rooms for ", total);
  const Order order = order_of_filling(bounds);
  const std::vector<double> weights = weights_from(bounds, order);
  std::vector<int64_t> shares(bounds.size(), 0);
  int64_t left = total;
  size_t i = 0;
  for (; i < order.size(); ++i) {
    const ShareBound& bound = bounds[order[i]];
    const double part = static_cast<double>(left) * bound.weight / weights[i];
    if (static_cast<double>(bound.room) > part) break;
    shares[order[i]] = std::min(bound.room, left);
    left -= shares[order[i]];
  }
  const int64_t rest = left;
  for (size_t j = i; j < order.size(); ++j) {
    const ShareBound& bound = bounds[order[j]];
    const double part = static_cast<double>(rest) * bound.weight / weights[i];
    shares[order[j]] = std::min({static_cast<int64_t>(std::floor(part)), bound.room, left});
    left -= shares[order[j]];
  }
  give_remainder(left, bounds, order, shares);
  return shares;
}

}  // namespace cadenza
