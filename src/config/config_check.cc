#include "config/config_check.h"

#include "base/cat.h"
#include "base/error.h"
#include "base/log.h"
#include "planner/strategy.h"

namespace cadenza {
namespace {

class Checker {
 public:
  Checker(const TrainConfig& config, const ConfigPlaces& places)
      : config_(config), places_(places) {}

  void check_data() const {
    const CorpusOptions& data = config_.data;
    if (data.paths.empty()) {
      refuse("data.paths", "files, folders or globs", "none",
             "give [data] paths = [\"some/folder\"]");
    }
    if (data.max_length && data.min_length > *data.max_length) {
      refuse("data.min_length", cat("at most data.max_length (", *data.max_length, ")"),
             cat(data.min_length), "lower it");
    }
  }

  void check_training() const {
    if (config_.warmup_steps > config_.steps) {
      refuse("train.warmup_steps", cat("at most train.steps (", config_.steps, ")"),
             cat(config_.warmup_steps), "lower it or train longer");
    }
    if (config_.min_learning_rate > config_.learning_rate) {
      refuse("train.min_learning_rate",
             cat("at most train.learning_rate (", config_.learning_rate, ")"),
             cat(config_.min_learning_rate), "lower it");
    }
  }

  void check_exchange() const {
    if (!config_.exchange_dtype || *config_.exchange_dtype == config_.dtype) return;
    const std::string model = dtype_name(config_.dtype);
    refuse("exchange.dtype", cat("the model's dtype (train.dtype = \"", model, "\")"),
           cat('"', dtype_name(*config_.exchange_dtype), '"'),
           cat("give \"model\" or \"", model, "\"; another would not be exact"));
  }

  void check_strategies() const {
    check_strategy("planner.strategy", config_.strategy);
    for (const std::string& name : config_.compare_strategies)
      check_strategy("compare.strategies", name);
    // Less could not hold a full batch however it is placed.
    if (config_.planning.options.capacity &&
        *config_.planning.options.capacity < config_.tokens_per_rank) {
      refuse("planner.capacity",
             cat("at least data.tokens_per_rank (", config_.tokens_per_rank, ")"),
             cat(*config_.planning.options.capacity), "raise it or lower data.tokens_per_rank");
    }
  }

  void check_model() const {
    if (!config_.checkpoint.empty()) return warn_of_unused_model_keys();
    const std::string rope = "model.rope_scaling.", type = rope + "rope_type";
    if (config_.model.rope_scaling && !places_.has(type)) {
      refuse(type, "\"llama3\"", "none", "give it, or leave the section out");
    }
    try {
      check_model_config(config_.model);
    } catch (const ConfigError& error) {
      throw ConfigError(cat(error.what(), " (", places_.file, ", section [model])"));
    }
    check_vocabulary();
  }

 private:
  [[noreturn]] void refuse(const std::string& name, const std::string& expected,
                           const std::string& got, const std::string& remedy) const {
    throw ConfigError(cat("[config] ", places_.of(name), ": ", name, ": expected ", expected,
                          ", got ", got, "; ", remedy));
  }

  void check_strategy(const std::string& key, const std::string& name) const try {
    find_strategy(name);
  } catch (const ConfigError& error) {
    throw ConfigError(cat("[config] ", places_.of(key), ": ", key, ": ", error.what()));
  }

  void check_vocabulary() const {
    const bool special = config_.data.begin_token || config_.data.end_token;
    const int64_t needed = special ? ByteVocabulary::kSize : ByteVocabulary::kBeginOfDocument;
    if (config_.model.vocab_size < needed) {
      refuse("model.vocab_size",
             cat("at least ", needed, " (bytes", special ? " and special tokens)" : ")"),
             cat(config_.model.vocab_size), cat("use ", needed));
    }
  }

  void warn_of_unused_model_keys() const {
    std::string unused;
    for (const auto& [name, place] : places_.given) {
      if (name.starts_with("model.") && name != "model.checkpoint")
        unused += (unused.empty() ? "" : ", ") + name;
    }
    if (!unused.empty())
      log_warning(cat("the model is that of ", config_.checkpoint, "; not used: ", unused));
  }

  const TrainConfig& config_;
  const ConfigPlaces& places_;
};

}  // namespace

void check_train_config(const TrainConfig& config, const ConfigPlaces& places) {
  const Checker checker(config, places);
  checker.check_model();
  checker.check_data();
  checker.check_training();
  checker.check_exchange();
  checker.check_strategies();
}

}  // namespace cadenza
