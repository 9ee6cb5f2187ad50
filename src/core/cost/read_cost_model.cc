#include "core/cost/read_cost_model.h"

#include "core/cost/profile_cost_model.h"

namespace cadenza {

std::unique_ptr<CostModel> read_cost_model(const std::string& pairs_or_file) {
  if (pairs_or_file == "pairs") return std::make_unique<PairsCostModel>();
  return std::make_unique<ProfileCostModel>(read_profile(pairs_or_file));
}

}  // namespace cadenza
