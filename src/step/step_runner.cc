#include "step/step_runner.h"

#include <optional>

#include "base/interrupt.h"
#include "step/running_pass.h"

namespace cadenza {
namespace {

void execute(Action::Kind kind, StepParts& parts) {
  using Kind = Action::Kind;
  switch (kind) {
    case Kind::kPostPlans:
      return parts.post_plans();
    case Kind::kReceivePlans:
      return parts.receive_plans();
    case Kind::kShareStatus:
      return parts.share_status();
    case Kind::kReduceGradients:
      return parts.reduce_gradients();
    case Kind::kUpdate:
      return parts.update();
    default:
      return;  // of a pass
  }
}

}  // namespace

void StepRunner::run(std::span<const Action> schedule, double loss_scale, StepParts& parts) {
  std::optional<RunningPass> pass;
  int running = -1;  // micro-batch
  const auto end_pass = [&] {
    if (!pass) return;
    parts.end_micro_batch(running, pass->results());
    pass.reset();
  };
  for (const Action& action : schedule) {
    if (!is_of_pass(action.kind)) {
      throw_if_interrupted();
      if (action.kind == Action::Kind::kShareStatus) end_pass();
      execute(action.kind, parts);
      continue;
    }
    if (action.micro_batch != running) {
      end_pass();
      running = action.micro_batch;
      pass.emplace(context_, model_, spec_, parts.begin_micro_batch(running), loss_scale,
                   /*training=*/true);
    }
    pass->execute(action);
  }
  end_pass();
}

}  // namespace cadenza
