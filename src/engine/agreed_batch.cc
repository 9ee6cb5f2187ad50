#include "engine/agreed_batch.h"

#include <utility>

#include "base/hash.h"

namespace cadenza {
namespace {

double predicted_attention(const Plan& plan, const CostModel& cost, Rank rank, int64_t heads) {
  double sum = 0;
  for (const Task& task : plan.tasks) {
    if (task.server != rank) continue;
    const double share = task.heads.empty()
                             ? 1
                             : static_cast<double>(task.heads.size()) / static_cast<double>(heads);
    sum += share * cost.task_cost(task.piece);
  }
  return sum;
}

}  // namespace

AgreedBatch compile_batch(MadePlans made, const PlanSettings& settings, Rank rank) {
  AgreedBatch batch{.nano_batches = {}, .plan_seconds = made.seconds};
  for (NanoBatchPlans& nano : made.nano_batches) {
    AgreedNanoBatch agreed{.plans = {}, .programs = {}, .documents = std::move(nano.documents)};
    for (size_t kind = 0; kind < nano.plans.size(); ++kind) {
      VerifiedPlan verified = verify_plan(std::move(nano.plans[kind]));
      RankProgram program =
          compile_plan(verified, settings.shape.heads, settings.shape.kv_heads, rank);
      if (!batch.nano_batches.empty())
        link_carried_rows(batch.nano_batches.front().batch(), rank, program);
      batch.predicted_attention +=
          settings.kinds[kind].share *
          predicted_attention(verified.plan(), *settings.cost, rank, settings.shape.heads);
      agreed.plans.push_back(std::move(verified));
      agreed.programs.push_back(std::move(program));
    }
    batch.nano_batches.push_back(std::move(agreed));
  }
  return batch;
}

uint64_t hash_of(const std::vector<AgreedBatch>& step) {
  uint64_t hash = hash_bytes("plans of a step");
  for (const AgreedBatch& batch : step) {
    for (const AgreedNanoBatch& nano : batch.nano_batches) {
      for (const VerifiedPlan& plan : nano.plans) hash = hash_bytes(hash_text(plan.hash()), hash);
    }
  }
  return hash;
}

}  // namespace cadenza
