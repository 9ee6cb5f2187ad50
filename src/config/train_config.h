#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "config/adamw_options.h"
#include "core/exchange_table.h"
#include "data/batch_stream.h"
#include "data/corpus.h"
#include "model/model_config.h"
#include "model/model_options.h"
#include "planner/planning_options.h"
#include "program/schedule.h"

namespace cadenza {

/// Everything a run is made from, read once at the edge. The TOML keys are the names in the
/// comments; the list is frozen by a test.
struct TrainConfig {
  ModelConfig model;       // model.*, Hugging Face's names
  std::string checkpoint;  // model.checkpoint: Hugging Face folder to start from; model.* then
                           // comes from there
  CorpusOptions data;  // data.paths, .min_length, .max_length, .separator, .begin_token, .end_token
  Overflow overflow = Overflow::kCarry;  // data.overflow = carry | fragment | drop | error
  int64_t tokens_per_rank = 8192;        // data.tokens_per_rank
  bool defer = false;                    // data.defer

  int64_t steps = 100;            // train.steps
  uint64_t seed = 1;              // train.seed
  int64_t micro_batches = 1;      // train.micro_batches
  Dtype dtype = Dtype::kFloat32;  // train.dtype = fp32 | bf16: of activations and the weights that
                                  // they meet; the optimizer's weights are fp32
  double learning_rate = 3e-4;    // train.learning_rate: the peak
  double min_learning_rate =
      3e-5;  // train.min_learning_rate: where the cosine ends; default at most the peak
  int64_t warmup_steps = 10;   // train.warmup_steps: linear; default at most steps
  double gradient_clip = 1.0;  // train.gradient_clip: global norm; 0 = off
  AdamWOptions adamw;          // train.beta1, .beta2, .epsilon, .weight_decay

  std::string strategy = "cad";  // planner.strategy
  PlanningSettings planning;     // planner.tolerance and the rest of planning_options()

  std::optional<Dtype> exchange_dtype;  // exchange.dtype = model; or its name: nothing else is
                                        // exact
  std::optional<Dtype> gradient_exchange_dtype;  // exchange.grad_dtype = model | fp32: of dQ, dK,
                                                 // dV on the wire
  double deadline_seconds =
      60;  // runtime.deadline_seconds: the longest that a rank waits for another
  ScheduleKind schedule = ScheduleKind::kPlain;  // runtime.schedule = plain | ping-pong
  std::string servers = "in-place";              // runtime.servers
  int threads = 0;  // runtime.threads a rank; 0 = cores / local ranks, at least 1

  Recompute recompute = Recompute::kNone;           // memory.recompute = none | segment
  BackwardInputs kv_reuse = BackwardInputs::kKept;  // memory.kv_reuse = keep | resend

  std::vector<std::string> compare_strategies = {"home", "cad"};  // compare.strategies
  std::string folder = "runs/run";                                // run.folder
};

/// Reads a TOML file and then the overrides "a.b=value". ConfigError with file, line, section and
/// the nearest known key for an unknown key, a wrong type, a number out of its range, or settings
/// that cannot work together.
TrainConfig read_train_config(const std::string& path, const std::vector<std::string>& overrides);

/// The resolved values under their TOML keys, as run folders store them. A key without value or
/// default is left out.
Json train_config_to_json(const TrainConfig& config);

/// Two lines a key: name, what it takes and its default; what it means.
std::string train_config_help();

}  // namespace cadenza
