// Reads Hugging Face's config.json. Absent keys have the defaults of its LlamaConfig and
// MistralConfig classes, not ours: a file means what its own library makes of it.
#include <algorithm>
#include <limits>

#include "base/cat.h"
#include "base/error.h"
#include "model/model_config.h"

namespace cadenza {
namespace {

// One object of the file, and how to name its keys in errors.
struct Reader {
  const Json& json;
  std::string where;
  std::string prefix;  // "" or "rope_scaling."

  // Null counts as absent, as in Hugging Face's own files.
  const Json* find(const char* key) const {
    const auto found = json.find(key);
    return found == json.end() || found->is_null() ? nullptr : &*found;
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& expected,
                           const std::string& got, const std::string& remedy) const {
    throw DataError(cat("[model] ", where, ": ", prefix, key, ": expected ", expected, ", got ",
                        got, "; ", remedy));
  }

  int64_t integer(const char* key, int64_t absent) const {
    const Json* value = find(key);
    if (value == nullptr) return absent;
    const bool fits = value->is_number_integer() &&
                      !(value->is_number_unsigned() &&
                        value->get<uint64_t>() > uint64_t{std::numeric_limits<int64_t>::max()});
    if (!fits) refuse(key, "an integer", value->dump(), "correct the file");
    return value->get<int64_t>();
  }

  double number(const char* key, double absent) const {
    const Json* value = find(key);
    if (value == nullptr) return absent;
    if (!value->is_number()) refuse(key, "a number", value->dump(), "correct the file");
    return value->get<double>();
  }

  bool boolean(const char* key, bool absent) const {
    const Json* value = find(key);
    if (value == nullptr) return absent;
    if (!value->is_boolean()) refuse(key, "true or false", value->dump(), "correct the file");
    return value->get<bool>();
  }

  std::string text(const char* key, const std::string& absent) const {
    const Json* value = find(key);
    if (value == nullptr) return absent;
    if (!value->is_string()) refuse(key, "a text", value->dump(), "correct the file");
    return value->get<std::string>();
  }
};

const char* const kOtherModel = "Cadenza computes plain Llama and Mistral models only";

void refuse_what_changes_the_model(const Reader& file) {
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (file.boolean(key, false)) file.refuse(key, "false", "true", kOtherModel);
  }
  const std::string activation = file.text("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") {
    file.refuse("hidden_act", "silu", activation, kOtherModel);
  }
  if (const Json* value = file.find("quantization_config")) {
    file.refuse("quantization_config", "none", value->dump(),
                "use the checkpoint before quantisation");
  }
  if (file.number("attention_dropout", 0) != 0) {
    file.refuse("attention_dropout", "0", file.find("attention_dropout")->dump(),
                "set it to 0: Cadenza drops nothing");
  }
  if (file.number("partial_rotary_factor", 1) != 1) {
    file.refuse("partial_rotary_factor", "1", file.find("partial_rotary_factor")->dump(),
                kOtherModel);
  }
}

// MistralConfig takes a window of 4096 when the key is absent; null is none. Hugging Face's Llama
// has no window, so that a file that names one is of something else.
std::optional<int64_t> read_window(const Reader& file, bool mistral) {
  const bool absent = !file.json.contains("sliding_window");
  if (mistral && absent) return 4096;
  const Json* value = file.find("sliding_window");
  if (value == nullptr) return std::nullopt;
  if (!mistral) {
    file.refuse("sliding_window", "null", value->dump(),
                "a Llama has no window; set it to null if the model was trained without one");
  }
  const int64_t window = file.integer("sliding_window", 0);
  if (window < 1) {
    file.refuse("sliding_window", "a number >= 1, or null", value->dump(), "correct the file");
  }
  return window;
}

// All layers have the window, or none has.
void refuse_mixed_layers(const Reader& file, bool window) {
  const Json* kinds = file.find("layer_types");
  if (kinds == nullptr) return;
  const char* const expected = window ? "sliding_attention" : "full_attention";
  const bool alike =
      kinds->is_array() &&
      std::all_of(kinds->begin(), kinds->end(), [&](const Json& kind) { return kind == expected; });
  if (!alike)
    file.refuse("layer_types", cat(expected, " in every layer"), kinds->dump(), kOtherModel);
}

Llama3RopeScaling read_llama3(const Reader& rope) {
  for (const char* key :
       {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    if (rope.find(key) == nullptr) rope.refuse(key, "a number", "none", "llama3 scaling needs it");
  }
  return {.factor = rope.number("factor", 0),
          .low_freq_factor = rope.number("low_freq_factor", 0),
          .high_freq_factor = rope.number("high_freq_factor", 0),
          .original_max_position_embeddings = rope.integer("original_max_position_embeddings", 0)};
}

// "rope_type" was called "type" once. An object that scales without saying how is refused.
std::string read_rope_type(const Reader& rope) {
  const bool bare = rope.find("factor") == nullptr && rope.find("low_freq_factor") == nullptr;
  const std::string type = rope.text("rope_type", rope.text("type", bare ? "default" : ""));
  if (type != "default" && type != "llama3") {
    rope.refuse("rope_type", "default or llama3", type.empty() ? "none" : type,
                "other RoPE scalings are not computed");
  }
  return type;
}

// Both forms in which files say it: rope_theta and rope_scaling at the top, or all of it in
// rope_parameters.
void read_rope_object(const Reader& file, const char* key, ModelConfig& config) {
  const Json* object = file.find(key);
  if (object == nullptr) return;
  if (!object->is_object()) file.refuse(key, "an object", object->dump(), "correct the file");
  const Reader rope{*object, file.where, cat(key, ".")};
  if (rope.number("partial_rotary_factor", 1) != 1) {
    rope.refuse("partial_rotary_factor", "1", rope.find("partial_rotary_factor")->dump(),
                kOtherModel);
  }
  if (read_rope_type(rope) == "llama3") config.rope_scaling = read_llama3(rope);
  if (const Json* theta = rope.find("rope_theta")) {
    const double value = rope.number("rope_theta", 0);
    if (file.number("rope_theta", value) != value) {
      rope.refuse("rope_theta", file.find("rope_theta")->dump(), theta->dump(),
                  "the file gives two values, keep one");
    }
    config.rope_theta = value;
  }
}

void read_rope(const Reader& file, ModelConfig& config) {
  config.rope_theta = file.number("rope_theta", 10000.0);
  if (file.find("rope_scaling") != nullptr && file.find("rope_parameters") != nullptr &&
      *file.find("rope_scaling") != *file.find("rope_parameters")) {
    file.refuse("rope_scaling", "the same as rope_parameters", "another", "keep one of them");
  }
  read_rope_object(file, "rope_scaling", config);
  read_rope_object(file, "rope_parameters", config);
}

ModelConfig read_sizes(const Reader& file, bool mistral) {
  ModelConfig config;
  config.vocab_size = file.integer("vocab_size", 32000);
  config.hidden_size = file.integer("hidden_size", 4096);
  config.intermediate_size = file.integer("intermediate_size", mistral ? 14336 : 11008);
  config.num_hidden_layers = file.integer("num_hidden_layers", 32);
  config.num_attention_heads = file.integer("num_attention_heads", 32);
  const bool grouped_by_default = mistral && !file.json.contains("num_key_value_heads");
  config.num_key_value_heads =
      file.integer("num_key_value_heads", grouped_by_default ? 8 : config.num_attention_heads);
  config.head_dim = file.integer("head_dim", 0);
  if (file.find("head_dim") != nullptr && config.head_dim < 1) {
    file.refuse("head_dim", "a number >= 1, or null", cat(config.head_dim), "correct the file");
  }
  config.max_position_embeddings = file.integer("max_position_embeddings", mistral ? 131072 : 2048);
  config.rms_norm_eps = file.number("rms_norm_eps", 1e-6);
  config.tie_word_embeddings = file.boolean("tie_word_embeddings", false);
  config.initializer_range = file.number("initializer_range", 0.02);
  return config;
}

}  // namespace

ModelConfig model_config_from_json(const Json& json, const std::string& where) {
  if (!json.is_object()) {
    throw DataError(cat("[model] ", where, ": expected an object, got ", json.type_name(),
                        "; give the config.json of a Llama or Mistral model"));
  }
  const Reader file{json, where, ""};
  const std::string type = file.text("model_type", "none");
  if (type != "llama" && type != "mistral") {
    file.refuse("model_type", "llama or mistral", type, kOtherModel);
  }
  refuse_what_changes_the_model(file);
  ModelConfig config = read_sizes(file, type == "mistral");
  config.sliding_window = read_window(file, type == "mistral");
  refuse_mixed_layers(file, config.sliding_window.has_value());
  read_rope(file, config);
  try {
    check_model_config(config);
  } catch (const ConfigError& error) {
    throw DataError(cat(error.what(), " (in ", where, ")"));
  }
  return config;
}

}  // namespace cadenza
