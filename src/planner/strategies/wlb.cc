#include "planner/strategies/wlb.h"

#include "planner/document_placement.h"

namespace cadenza {

Plan plan_wlb(const PlanRequest& request) {
  DocumentPlacement placement(request, "wlb");
  for (const int document : placement.documents_by_cost()) {
    const auto rank =
        placement.loads().first_to_finish(placement.length(document), placement.cost(document));
    if (rank) {
      placement.place_whole(document, *rank);
    } else {
      placement.place_in_room(document);
    }
  }
  return std::move(placement).plan();
}

}  // namespace cadenza
