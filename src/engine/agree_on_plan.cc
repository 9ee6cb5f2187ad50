#include "engine/agree_on_plan.h"

#include "base/check.h"
#include "base/hash.h"
#include "comm/collectives.h"
#include "core/plan_json.h"

namespace cadenza {

VerifiedPlan agree_on_plan(Group& group, const std::optional<Plan>& plan, Deadline deadline) {
  CADENZA_CHECK(plan.has_value() == (group.rank() == 0), "rank ", group.rank());
  const std::string text =
      broadcast(group, 0, plan ? plan_to_json(*plan).dump() : std::string(), deadline);
  const std::string origin = "plan from rank 0";
  VerifiedPlan verified =
      verify_plan(plan ? *plan : plan_from_json(parse_json(text, origin), origin));

  const std::vector<std::string> hashes = all_gather(group, hash_text(verified.hash()), deadline);
  for (size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] == hashes[0]) continue;
    throw PlanError(cat("[runtime] rank ", rank, " holds plan ", hashes[rank], ", rank 0 holds ",
                        hashes[0], "; all ranks must run the same build of Cadenza"));
  }
  return verified;
}

}  // namespace cadenza
