#include "train/plan_ahead.h"

#include <utility>

namespace cadenza {
namespace {

std::vector<std::vector<int64_t>> lengths_of_all(const std::vector<TokenBatch>& batches) {
  std::vector<std::vector<int64_t>> lengths;
  for (const TokenBatch& batch : batches) lengths.push_back(lengths_of(batch));
  return lengths;
}

}  // namespace

std::vector<MadePlans> PlanAhead::make(const Lengths& lengths, const PlanSettings& settings,
                                       int ranks) {
  std::vector<MadePlans> plans;
  for (const auto& of_batch : lengths) plans.push_back(make_plans(of_batch, settings, ranks));
  return plans;
}

void PlanAhead::begin(const std::vector<TokenBatch>& batches) {
  begun_ = lengths_of_all(batches);
  plans_ =
      std::async(std::launch::async, [lengths = begun_, &settings = settings_, ranks = ranks_] {
        return make(lengths, settings, ranks);
      });
}

std::vector<MadePlans> PlanAhead::take(const std::vector<TokenBatch>& batches) {
  Lengths lengths = lengths_of_all(batches);
  if (plans_.valid() && lengths == begun_) return plans_.get();
  return make(lengths, settings_, ranks_);
}

}  // namespace cadenza
