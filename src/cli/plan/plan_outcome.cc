#include "cli/plan/plan_outcome.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/cat.h"
#include "base/error.h"
#include "base/hash.h"
#include "cli/verb.h"
#include "core/cost/profile_cost_model.h"
#include "core/traffic.h"
#include "planner/balance.h"
#include "planner/lower_bound_bytes.h"
#include "report/bars.h"
#include "report/table.h"

namespace cadenza {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

Json shape_json(const ModelShape& shape) {
  return {{"hidden", shape.heads * shape.head_dim},
          {"kv_width", shape.kv_heads * shape.head_dim},
          {"heads", shape.heads},
          {"kv_heads", shape.kv_heads},
          {"head_dim", shape.head_dim},
          {"dtype", dtype_name(shape.dtype)},
          {"grad_dtype", dtype_name(shape.gradient_dtype())}};
}

/// Predicted time of each server, in the cost model's unit.
std::vector<double> loads_of(const Plan& plan, const PlanRequest& request) {
  std::vector<double> loads(static_cast<size_t>(plan.servers), 0.0);
  const auto named = static_cast<double>(std::max<int64_t>(named_heads(plan), 1));
  for (const Task& task : plan.tasks) {
    const double share = task.heads.empty() ? 1 : static_cast<double>(task.heads.size()) / named;
    const double c = share * request.cost->task_cost(task.piece);
    if (c > 0) loads[static_cast<size_t>(task.server)] += c / request.cluster.speed(task.server);
  }
  return loads;
}

/// The part of the predicted attention whose tasks lie outside of what the cost model was measured
/// on.
double extrapolated_part(const Plan& plan, const CostModel& cost) {
  double all = 0, outside = 0;
  for (const Task& task : plan.tasks) {
    const double c = cost.task_cost(task.piece);
    all += c;
    if (cost.extrapolates(task.piece)) outside += c;
  }
  return all > 0 ? outside / all : 0;
}

void add_traffic(const Plan& plan, const PlanRequest& request, Json& json) {
  const Traffic traffic = forward_traffic(plan, request.shape, request.cluster);
  const BackwardTraffic backward = backward_traffic(traffic, request.shape);
  const BackwardTraffic again =
      backward_traffic(traffic, request.shape, BackwardInputs::kSentAgain);
  json["q_bytes"] = traffic.q_bytes;
  json["kv_bytes"] = traffic.kv_bytes;
  json["o_bytes"] = traffic.o_bytes;
  json["lse_bytes"] = traffic.lse_bytes;
  json["total_bytes"] = traffic.total();
  json["far_bytes"] = traffic.far_bytes;
  json["max_recv_bytes"] = traffic.max_recv_bytes;
  json["recv_bytes_per_server"] = traffic.recv_bytes_per_server;
  json["max_extra_kv_bytes"] = traffic.max_extra_kv_bytes;
  json["backward_q_bytes"] = backward.q_bytes;
  json["backward_kv_bytes"] = backward.kv_bytes;
  json["backward_total_bytes_with_inputs_again"] = again.total();
}

/// Seconds of one layer's forward: the exchange of the server with the longest one, and what of a
/// server's exchange is longer than its own attention, which it can at best hide behind.
void add_exchange(const Plan& plan, const PlanRequest& request, Json& json) {
  const auto* model = dynamic_cast<const ProfileCostModel*>(request.cost);
  if (model == nullptr || model->exchange() == nullptr) return;
  std::vector<double> attention(static_cast<size_t>(plan.servers), 0.0);
  const auto named = static_cast<double>(std::max<int64_t>(named_heads(plan), 1));
  for (const Task& task : plan.tasks) {
    const double share = task.heads.empty() ? 1 : static_cast<double>(task.heads.size()) / named;
    attention[static_cast<size_t>(task.server)] += share * model->forward_seconds(task.piece);
  }
  const auto received = json["recv_bytes_per_server"].get<std::vector<int64_t>>();
  double longest = 0, exposed = 0;
  for (size_t s = 0; s < attention.size(); ++s) {
    const double speed = request.cluster.speed(static_cast<int>(s));
    const double seconds = model->exchange()->seconds(static_cast<double>(received[s]));
    longest = std::max(longest, seconds);
    exposed = std::max(exposed, seconds - (speed > 0 ? attention[s] / speed : 0));
  }
  json["predicted_exchange"] = longest;
  json["predicted_exchange_exposed"] = exposed;
  json["exchange_hidden"] = exposed <= 0;
}

}  // namespace

PlanOutcome plan_and_prove(const Strategy& strategy, const PlanRequest& request,
                           bool others_follow) {
  PlanOutcome outcome{.strategy = strategy.name};
  try {
    const auto start = std::chrono::steady_clock::now();
    Plan plan = strategy.plan(request);
    outcome.plan_ms = milliseconds_since(start);
    outcome.plan = verify_plan(std::move(plan));
  } catch (const NeedsCapacity& error) {
    if (!others_follow) throw;
    outcome.refused = cat("needs capacity ", error.capacity());
  } catch (const NotApplicable& error) {
    if (!others_follow) throw;
    outcome.refused = cat("not applicable: ", error.what());
  }
  return outcome;
}

Json outcome_to_json(const std::string& batch, const PlanRequest& request,
                     const PlanOutcome& outcome) {
  Json json = {{"batch", batch},
               {"strategy", outcome.strategy},
               {"servers", request.cluster.servers},
               {"homes", request.homes},
               {"documents", request.documents.size()},
               {"tolerance", request.tolerance},
               {"cost_model", request.cost->name()},
               {"model", shape_json(request.shape)},
               {"provenance", provenance_to_json(program_provenance())}};
  int64_t tokens = 0;
  for (const Document& document : request.documents) tokens += document.length;
  json["tokens"] = tokens;
  if (!outcome.plan) {
    json["refused"] = outcome.refused;
    return json;
  }
  const Plan& plan = outcome.plan->plan();
  const Balance balance = balance_of(plan, request.cluster, *request.cost);
  json["pairs"] = count_pairs(plan.batch);
  json["tasks"] = plan.tasks.size();
  json["max_over_mean"] = balance.max_over_mean;
  json["lower_bound_over_mean"] = balance.lower_bound_over_mean;
  const std::vector<double> loads = loads_of(plan, request);
  json["load_per_server"] = loads;
  json["predicted_attention"] = *std::max_element(loads.begin(), loads.end());
  json["extrapolated_part"] = extrapolated_part(plan, *request.cost);
  add_traffic(plan, request, json);
  add_exchange(plan, request, json);
  // The bound is on plans whose tasks have all heads, and that are as even as this one in pairs.
  std::optional<double> bound;
  if (named_heads(plan) == 0 && dynamic_cast<const PairsCostModel*>(request.cost) != nullptr) {
    bound =
        lower_bound_bytes(plan.batch, request.cluster, request.shape, balance.max_over_mean - 1);
  }
  json["lower_bound_bytes"] = bound ? Json(*bound) : Json();
  json["plan_ms"] = outcome.plan_ms;
  json["plan_hash"] = hash_text(outcome.plan->hash());
  return json;
}

std::string title_of(const Json& outcome) {
  const auto strategy = outcome["strategy"].get<std::string>();
  if (!outcome.contains("nano_batch")) return strategy;
  return strategy + (outcome["nano_batch"] == 0 ? " A" : " B");
}

std::string outcomes_to_picture(const std::vector<Json>& outcomes) {
  std::vector<BarPanel> panels;
  for (const Json& outcome : outcomes) {
    if (outcome.value("predicted_attention", 0.0) <= 0) continue;
    panels.push_back({title_of(outcome), outcome["load_per_server"].get<std::vector<double>>()});
  }
  if (panels.empty()) {
    throw ConfigError(
        "[--picture] expected a strategy that can plan this batch, got none; name another one, for "
        "example --strategy home,cad");
  }
  return bars_to_svg(
      cat("Attention work of each of ", outcomes.front()["servers"], " ranks in one batch"),
      panels);
}

namespace {

/// Under a hundredth nobody's ranking changes.
std::string extrapolation_note(double part) {
  if (part < 0.01) return "";
  char text[160];
  std::snprintf(text, sizeof(text),
                "up to %.0f %% of the predicted time is of tasks outside the profile's grid: "
                "extrapolated, not measured\n",
                100 * part);
  return text;
}

}  // namespace

std::string outcomes_to_text(const std::vector<Json>& outcomes, bool nodes) {
  constexpr double kGiB = 1.0 / (int64_t{1} << 30);
  const bool seconds = outcomes.front()["cost_model"] == "profile";
  std::vector<Column> columns{
      {.key = "strategy", .title = "strategy"},
      {.key = "tasks", .title = "tasks"},
      {.key = "max_over_mean", .title = "max/mean", .decimals = 4},
      {.key = "lower_bound_over_mean", .title = "bound", .decimals = 4},
      {.key = "predicted_attention",
       .title = "slowest server",
       .unit = seconds ? "s" : "million pairs",
       .scale = seconds ? 1 : 1e-6},
      {.key = "q_bytes", .title = "Q", .unit = "GiB", .scale = kGiB},
      {.key = "kv_bytes", .title = "KV", .unit = "GiB", .scale = kGiB},
      {.key = "o_bytes", .title = "O", .unit = "GiB", .scale = kGiB},
      {.key = "max_recv_bytes", .title = "max receive", .unit = "GiB", .scale = kGiB},
      {.key = "max_extra_kv_bytes", .title = "extra KV", .unit = "GiB", .scale = kGiB},
      {.key = "plan_ms", .title = "planned in", .unit = "ms", .decimals = 2}};
  if (nodes) {
    columns.push_back({.key = "far_bytes", .title = "between nodes", .unit = "GiB", .scale = kGiB});
  }
  if (std::any_of(outcomes.begin(), outcomes.end(),
                  [](const Json& o) { return o.contains("predicted_exchange"); })) {
    columns.push_back({.key = "predicted_exchange", .title = "exchange", .unit = "s"});
    columns.push_back({.key = "predicted_exchange_exposed", .title = "not hidden", .unit = "s"});
  }
  columns.push_back({.key = "refused", .title = "remark"});
  const bool remarks = std::any_of(outcomes.begin(), outcomes.end(),
                                   [](const Json& o) { return o.contains("refused"); });
  if (!remarks) columns.pop_back();
  Table table(columns);
  for (const Json& outcome : outcomes) {
    std::vector<Cell> cells;
    for (const Column& column : columns) {
      const auto found = outcome.find(column.key);
      if (found == outcome.end()) {
        cells.emplace_back();
      } else if (found->is_string()) {
        cells.emplace_back(column.key == "strategy" ? title_of(outcome)
                                                    : found->get<std::string>());
      } else if (found->is_number_integer()) {
        cells.emplace_back(found->get<int64_t>());
      } else {
        cells.emplace_back(found->get<double>());
      }
    }
    table.add_row(std::move(cells));
  }
  const Json& any = outcomes.front();
  double extrapolated = 0;
  for (const Json& outcome : outcomes)
    extrapolated = std::max(extrapolated, outcome.value("extrapolated_part", 0.0));
  return cat(any["batch"].get<std::string>(), ": ", any["documents"], " documents, ", any["tokens"],
             " tokens on ", any["servers"], " servers; bytes of one forward layer; cost in ",
             any["cost_model"].get<std::string>(), "; every plan verified\n", table.to_text(),
             extrapolation_note(extrapolated));
}

}  // namespace cadenza
