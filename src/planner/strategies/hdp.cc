#include "planner/strategies/hdp.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "planner/document_placement.h"

namespace cadenza {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// On how many ranks a document should lie so that it alone takes at most `limit` on ranks of mean
/// speed.
int64_t degree_of(int document, double limit, const DocumentPlacement& placement) {
  const int64_t for_memory = divide_up(placement.length(document), placement.capacity());
  const double mean_speed = placement.loads().total_speed() / placement.ranks();
  const double parts = limit > 0 ? placement.cost(document) / mean_speed / limit : 0;
  // A part that is the limit itself is one part, whatever the division rounds to.
  const auto for_time = static_cast<int64_t>(std::ceil(parts - 1e-9));
  // More ranks than it has tokens would hold nothing of it.
  const int64_t most = std::min<int64_t>(placement.ranks(), placement.length(document));
  return std::clamp<int64_t>(std::max(for_memory, for_time), 1, most);
}

void place(int document, int64_t degree, DocumentPlacement& placement) {
  const int64_t length = placement.length(document);
  if (degree == 1) {
    const auto rank = placement.loads().first_to_finish(length, placement.cost(document));
    if (rank) return placement.place_whole(document, *rank);
    return placement.place_in_room(document);
  }
  const auto count = static_cast<size_t>(degree);
  const std::vector<Rank> ranks = placement.loads().least_loaded(count, divide_up(length, degree));
  if (ranks.size() == count) return placement.place_over(document, ranks);
  placement.place_in_room(document);
}

// Fractions of the mean that no document may exceed on a rank. The first is the original's. Parts
// of a whole mean fill a rank badly when they are two thirds of it; from a quarter on, what is
// gained no longer pays for the keys.
constexpr std::array kLimits{std::numeric_limits<double>::infinity(), 1.0, 1.0 / 2, 1.0 / 3,
                             1.0 / 4};

}  // namespace

Plan plan_hdp(const PlanRequest& request) {
  const DocumentPlacement nowhere(request, "hdp");
  const std::vector<int> order = nowhere.documents_by_cost();
  const double mean = nowhere.mean_time();
  std::optional<DocumentPlacement> best;
  for (const double limit : kLimits) {
    DocumentPlacement placement = nowhere;
    for (const int document : order)
      place(document, degree_of(document, limit * mean, placement), placement);
    if (!best || placement.loads().longest_time() < best->loads().longest_time())
      best = std::move(placement);
    if (best->loads().longest_time() <= (1 + request.tolerance) * mean) break;
  }
  return std::move(*best).plan();
}

}  // namespace cadenza
