#include "config/config_keys.h"

#include <algorithm>
#include <iterator>

#include "base/cat.h"
#include "base/nearest.h"
#include "config/config_key_kinds.h"

namespace cadenza {
namespace {

using Keys = std::vector<ConfigKey>;

// A pointer to member cannot reach a member of a member, a lambda can.
#define FIELD(path) \
  [](TrainConfig & config) -> auto& { return config.path; }

constexpr IntegerRange kCount{.low = 1};
constexpr NumberRange kPositive{.low = 0, .low_open = true};
constexpr NumberRange kFraction{.low = 0, .high = 1, .high_open = true};

// Given by any of its keys, and then with Hugging Face's rope_type.
Keys rope_scaling_keys() {
  const auto rope = [](TrainConfig& config) -> Llama3RopeScaling& {
    auto& scaling = config.model.rope_scaling;
    return scaling ? *scaling : scaling.emplace();
  };
  const std::string section = "model.rope_scaling.";
  Keys keys{
      number_key(
          section + "factor", kPositive, "how much longer the longest wavelengths become",
          [rope](TrainConfig & config) -> auto& { return rope(config).factor; }),
      number_key(
          section + "low_freq_factor", kPositive,
          "wavelengths above original length / this become longer by the factor",
          [rope](TrainConfig & config) -> auto& { return rope(config).low_freq_factor; }),
      number_key(
          section + "high_freq_factor", kPositive,
          "wavelengths below original length / this stay as they are",
          [rope](TrainConfig & config) -> auto& { return rope(config).high_freq_factor; }),
      integer_key(
          section + "original_max_position_embeddings", kCount,
          "length that the model was first trained for", [rope](TrainConfig & config) -> auto& {
            return rope(config).original_max_position_embeddings;
          })};
  ConfigKey type{.name = section + "rope_type", .shape = ConfigKey::Shape::kText};
  type.expected = "\"llama3\"";
  type.remedy = "there is no other kind so far; leave [model.rope_scaling] out for none";
  type.help = "the kind of scaling; needed where the section is given";
  type.set = [rope](TrainConfig& config, const Json& value) {
    if (value != "llama3") return false;
    rope(config);
    return true;
  };
  type.get = [](TrainConfig&) { return Json("llama3"); };
  keys.insert(keys.begin(), std::move(type));
  // To look at a field must not bring the section into being.
  for (ConfigKey& key : keys) {
    key.get = [get = key.get](TrainConfig& config) {
      return config.model.rope_scaling ? get(config) : Json();
    };
  }
  return keys;
}

Keys model_keys() {
  return {
      integer_key("model.vocab_size", kCount, "token ids; bytes and two special tokens need 258",
                  FIELD(model.vocab_size)),
      integer_key("model.hidden_size", kCount, "width of the residual stream",
                  FIELD(model.hidden_size)),
      integer_key("model.intermediate_size", kCount, "width inside the MLP",
                  FIELD(model.intermediate_size)),
      integer_key("model.num_hidden_layers", kCount, "layers", FIELD(model.num_hidden_layers)),
      integer_key("model.num_attention_heads", kCount, "query heads",
                  FIELD(model.num_attention_heads)),
      integer_key("model.num_key_value_heads", kCount,
                  "key and value heads; must divide the query heads",
                  FIELD(model.num_key_value_heads)),
      integer_key("model.head_dim", {.low = 0},
                  "width of a head, even; 0: hidden_size / num_attention_heads",
                  FIELD(model.head_dim)),
      integer_key("model.max_position_embeddings", kCount,
                  "longest document that the model is meant for, in tokens",
                  FIELD(model.max_position_embeddings)),
      number_key("model.rms_norm_eps", kPositive, "added under the root of RMSNorm",
                 FIELD(model.rms_norm_eps)),
      number_key("model.rope_theta", kPositive, "base of the rotary wavelengths",
                 FIELD(model.rope_theta)),
      boolean_key("model.tie_word_embeddings", "the head uses the embedding's weights",
                  FIELD(model.tie_word_embeddings)),
      number_key("model.initializer_range", kPositive, "standard deviation of fresh weights",
                 FIELD(model.initializer_range)),
      text_key("model.checkpoint", true,
               "Hugging Face folder to start from; the other model.* keys then come from its "
               "config.json",
               FIELD(checkpoint)),
  };
}

Keys data_keys() {
  return {
      texts_key("data.paths",
                "files, folders and globs (*, ?, ** for any depth); relative to the current "
                "folder, ~ is not expanded",
                FIELD(data.paths)),
      integer_key("data.min_length", kCount,
                  "shorter documents are skipped, in tokens with the special ones",
                  FIELD(data.min_length)),
      integer_key("data.max_length", kCount, "longer documents are skipped; not given: no limit",
                  FIELD(data.max_length)),
      text_key("data.separator", true, "cuts a file into documents where not empty",
               FIELD(data.separator)),
      boolean_key("data.begin_token", "documents begin with token 256", FIELD(data.begin_token)),
      boolean_key("data.end_token", "documents end with token 257", FIELD(data.end_token)),
      choice_key<Overflow>(
          "data.overflow",
          {{"carry", Overflow::kCarry},
           {"fragment", Overflow::kFragment},
           {"drop", Overflow::kDrop},
           {"error", Overflow::kError}},
          "what happens to a document that does not fit into what is left of a batch",
          FIELD(overflow)),
      // The bound keeps ranks × tokens far from the end of int64_t.
      integer_key("data.tokens_per_rank", {.low = 1, .high = int64_t{1} << 30},
                  "room of each rank in a micro-batch, in tokens", FIELD(tokens_per_rank)),
      boolean_key("data.defer",
                  "long documents wait until there are enough alike to give every rank one",
                  FIELD(defer)),
  };
}

Keys train_keys() {
  return {
      integer_key("train.steps", kCount, "optimizer steps", FIELD(steps)),
      integer_key("train.seed", {.low = 0}, "draws weights and the order of documents",
                  FIELD(seed)),
      integer_key("train.micro_batches", {.low = 1, .high = 1 << 20},
                  "micro-batches whose gradients make one step", FIELD(micro_batches)),
      choice_key<Dtype>(
          "train.dtype", {{"fp32", Dtype::kFloat32}, {"bf16", Dtype::kBFloat16}},
          "element type of activations and of the weights they meet; updates are fp32",
          FIELD(dtype)),
      number_key("train.learning_rate", kPositive, "the peak, after warm-up", FIELD(learning_rate)),
      number_key("train.min_learning_rate", {.low = 0},
                 "where the cosine ends; not given: 3e-5, or the peak where that is lower",
                 FIELD(min_learning_rate)),
      integer_key("train.warmup_steps", {.low = 0},
                  "linear warm-up; not given: 10, or train.steps where that is fewer",
                  FIELD(warmup_steps)),
      number_key("train.gradient_clip", {.low = 0}, "largest global gradient norm; 0: no limit",
                 FIELD(gradient_clip)),
      number_key("train.beta1", kFraction, "AdamW's decay of the mean", FIELD(adamw.beta1)),
      number_key("train.beta2", kFraction, "AdamW's decay of the mean square", FIELD(adamw.beta2)),
      number_key("train.epsilon", kPositive, "AdamW's addition to the denominator",
                 FIELD(adamw.epsilon)),
      number_key("train.weight_decay", {.low = 0},
                 "AdamW's weight decay, of matrices and embeddings only",
                 FIELD(adamw.weight_decay)),
  };
}

/// The table of planning options, each under [planner].
ConfigKey planning_key(const PlanningOption& option) {
  using Type = PlanningOption::Type;
  ConfigKey key{
      .name = cat("planner.", option.name),
      .shape = option.type == Type::kText ? ConfigKey::Shape::kText : ConfigKey::Shape::kScalar,
      .expected = option.expected,
      .remedy = option.type == Type::kText ? "give it in quotes" : "give it without quotes",
      .help = option.help};
  key.set = [&option](TrainConfig& config, const Json& value) {
    const bool fits = option.type == Type::kText      ? value.is_string()
                      : option.type == Type::kFlag    ? value.is_boolean()
                      : option.type == Type::kInteger ? value.is_number_integer()
                                                      : value.is_number();
    return fits &&
           option.set(config.planning, value.is_string() ? value.get<std::string>() : value.dump());
  };
  key.get = [&option](TrainConfig& config) {
    const std::string text = option.get(config.planning);
    if (text.empty()) return Json();
    return option.type == Type::kText ? Json(text) : Json::parse(text);
  };
  return key;
}

Keys planning_keys() {
  Keys keys{text_key("planner.strategy", false,
                     "who computes which attention; 'cadenza plan --help' lists them",
                     FIELD(strategy))};
  for (const PlanningOption& option : planning_options()) keys.push_back(planning_key(option));
  return keys;
}

Keys run_keys() {
  return {
      choice_key<std::optional<Dtype>>(
          "exchange.dtype",
          {{"model", std::nullopt}, {"fp32", Dtype::kFloat32}, {"bf16", Dtype::kBFloat16}},
          "in which Q, K, V, O and dO travel: the model's; another would not be exact",
          FIELD(exchange_dtype)),
      choice_key<std::optional<Dtype>>(
          "exchange.grad_dtype", {{"model", std::nullopt}, {"fp32", Dtype::kFloat32}},
          "in which dQ, dK and dV travel: rounded to the model's, or as they were summed",
          FIELD(gradient_exchange_dtype)),
      // A day: a longer wait is a hang. (The clock counts nanoseconds in 63 bits.)
      number_key("runtime.deadline_seconds", {.low = 0, .low_open = true, .high = 86400},
                 "longest that a rank waits for another", FIELD(deadline_seconds)),
      choice_key<ScheduleKind>(
          "runtime.schedule",
          {{"plain", ScheduleKind::kPlain}, {"ping-pong", ScheduleKind::kPingPong}},
          "order of the actions in a step; ping-pong halves a micro-batch, and computes one half "
          "while the other's exchange is on the wire",
          FIELD(schedule)),
      choice_key<std::string>("runtime.servers", {{"in-place", "in-place"}},
                              "which ranks compute attention: every training rank", FIELD(servers)),
      integer_key("runtime.threads", {.low = 0, .high = 4096},
                  "threads a rank; 0: cores / ranks of this machine", FIELD(threads)),
      choice_key<Recompute>("memory.recompute",
                            {{"none", Recompute::kNone}, {"segment", Recompute::kSegment}},
                            "what backward computes again instead of keeping it", FIELD(recompute)),
      choice_key<BackwardInputs>(
          "memory.kv_reuse",
          {{"keep", BackwardInputs::kKept}, {"resend", BackwardInputs::kSentAgain}},
          "whether servers keep the Q, K, V of others for the backward, or are sent them again",
          FIELD(kv_reuse)),
      texts_key("compare.strategies", "what 'cadenza compare' runs, in this order",
                FIELD(compare_strategies)),
      text_key("run.folder", false, "where metrics and results go", FIELD(folder)),
  };
}

#undef FIELD

Keys all_keys() {
  Keys all;
  for (auto make :
       {model_keys, rope_scaling_keys, data_keys, train_keys, planning_keys, run_keys}) {
    Keys keys = make();
    std::move(keys.begin(), keys.end(), std::back_inserter(all));
  }
  return all;
}

std::string last_part(const std::string& name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

const std::vector<ConfigKey>& config_keys() {
  static const Keys keys = all_keys();
  return keys;
}

const ConfigKey* find_config_key(const std::string& name) {
  const auto& keys = config_keys();
  const auto found =
      std::find_if(keys.begin(), keys.end(), [&](const auto& key) { return key.name == name; });
  return found == keys.end() ? nullptr : &*found;
}

std::string unknown_key_remedy(const std::string& name) {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) {
    if (key.name.starts_with(name + "."))
      return cat("[", name, "] is a section: give the keys in it");
    if (last_part(key.name) == last_part(name)) {
      const std::string section = key.name.substr(0, key.name.rfind('.'));
      return cat("it belongs under [", section, "]: ", key.name);
    }
    names.push_back(key.name);
  }
  return cat("did you mean ", nearest(name, names), "?");
}

}  // namespace cadenza
