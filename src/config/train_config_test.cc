#include "config/train_config.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "config/config_keys.h"

namespace cadenza {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

using Overrides = std::vector<std::string>;

// Reads `text` from a file called run.toml in a folder of its own.
TrainConfig read(const std::string& text, const Overrides& overrides = {}) {
  std::string folder = (std::filesystem::temp_directory_path() / "cadenza-config-XXXXXX").string();
  const std::filesystem::path owned = ::mkdtemp(folder.data());
  struct Remove {
    std::filesystem::path path;
    ~Remove() { std::filesystem::remove_all(path); }
  } remove{owned};
  write_file((owned / "run.toml").string(), text);
  return read_train_config((owned / "run.toml").string(), overrides);
}

constexpr const char* kData = "[data]\npaths = [\"docs\"]\n";

void refuses(const std::string& text, const Overrides& overrides,
             const std::vector<std::string>& parts) {
  SCOPED_TRACE(testing::Message() << text << " " << testing::PrintToString(overrides));
  try {
    read(text, overrides);
    ADD_FAILURE() << "was accepted";
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), ExitCode::kUsage);
    EXPECT_THAT(message, AllOf(HasSubstr("[config] "), Not(HasSubstr("\n"))));
    for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part));
  }
}

TEST(TrainConfig, ListOfKeysIsFrozen) {
  std::vector<std::string> names;
  for (const ConfigKey& key : config_keys()) names.push_back(key.name);
  EXPECT_THAT(
      names,
      ElementsAre(
          "model.vocab_size", "model.hidden_size", "model.intermediate_size",
          "model.num_hidden_layers", "model.num_attention_heads", "model.num_key_value_heads",
          "model.head_dim", "model.max_position_embeddings", "model.rms_norm_eps",
          "model.rope_theta", "model.tie_word_embeddings", "model.initializer_range",
          "model.checkpoint", "model.rope_scaling.rope_type", "model.rope_scaling.factor",
          "model.rope_scaling.low_freq_factor", "model.rope_scaling.high_freq_factor",
          "model.rope_scaling.original_max_position_embeddings", "data.paths", "data.min_length",
          "data.max_length", "data.separator", "data.begin_token", "data.end_token",
          "data.overflow", "data.tokens_per_rank", "data.defer", "train.steps", "train.seed",
          "train.micro_batches", "train.dtype", "train.learning_rate", "train.min_learning_rate",
          "train.warmup_steps", "train.gradient_clip", "train.beta1", "train.beta2",
          "train.epsilon", "train.weight_decay", "planner.strategy", "planner.tolerance",
          "planner.cost_model", "planner.servers_per_node", "planner.split_kv",
          "planner.far_link_weight", "planner.placement", "planner.effort",
          "planner.max_recv_bytes", "planner.max_extra_kv_bytes", "planner.capacity",
          "planner.mesh", "exchange.dtype", "exchange.grad_dtype", "runtime.deadline_seconds",
          "runtime.schedule", "runtime.servers", "runtime.threads", "memory.recompute",
          "memory.kv_reuse", "compare.strategies", "run.folder"));
}

TEST(TrainConfig, EveryDefaultIsInItsOwnRangeAndEveryKeyIsExplained) {
  TrainConfig defaults;
  for (const ConfigKey& key : config_keys()) {
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_THAT(train_config_help(), HasSubstr(key.name + "  " + key.expected)) << key.name;
    const Json value = key.get(defaults);
    TrainConfig changed;
    if (!value.is_null() && key.name != "data.paths") {
      EXPECT_TRUE(key.set(changed, value)) << key.name;
      EXPECT_EQ(key.get(changed), value) << key.name;
    }
  }
  EXPECT_FALSE(defaults.model.rope_scaling.has_value()) << "a look at the fields made the section";
}

// Each key is set to a value unlike its default, and must come back under its own name: two rows
// that share a field or a row with the wrong field would show.
TEST(TrainConfig, EveryKeyReachesItsOwnField) {
  const Overrides given{"model.vocab_size=300",
                        "model.hidden_size=192",
                        "model.intermediate_size=512",
                        "model.num_hidden_layers=3",
                        "model.num_attention_heads=6",
                        "model.num_key_value_heads=2",
                        "model.head_dim=64",
                        "model.max_position_embeddings=4096",
                        "model.rms_norm_eps=1e-6",
                        "model.rope_theta=500000.0",
                        "model.tie_word_embeddings=true",
                        "model.initializer_range=0.03",
                        "model.rope_scaling={rope_type=\"llama3\", factor=2.0, "
                        "low_freq_factor=1.5, high_freq_factor=5.0, "
                        "original_max_position_embeddings=2048}",
                        "data.paths=[\"a\", \"b/**\"]",
                        "data.min_length=2",
                        "data.max_length=9000",
                        "data.separator=\"\\n\\n\"",
                        "data.begin_token=false",
                        "data.end_token=false",
                        "data.overflow=\"drop\"",
                        "data.tokens_per_rank=4096",
                        "data.defer=true",
                        "train.steps=7",
                        "train.seed=9",
                        "train.micro_batches=2",
                        "train.learning_rate=1e-3",
                        "train.min_learning_rate=1e-4",
                        "train.warmup_steps=3",
                        "train.gradient_clip=0.5",
                        "train.beta1=0.8",
                        "train.beta2=0.99",
                        "train.epsilon=1e-9",
                        "train.weight_decay=0.2",
                        "planner.strategy=\"home\"",
                        "planner.tolerance=0.1",
                        "planner.capacity=5000",
                        "planner.cost_model=\"profile.json\"",
                        "exchange.grad_dtype=\"fp32\"",
                        "runtime.deadline_seconds=5.0",
                        "runtime.threads=3",
                        "memory.recompute=\"segment\"",
                        "compare.strategies=[\"home\"]",
                        "planner.servers_per_node=2",
                        "planner.split_kv=false",
                        "planner.far_link_weight=2.5",
                        "planner.placement=\"free\"",
                        "planner.effort=\"thorough\"",
                        "planner.max_recv_bytes=\"1MiB\"",
                        "planner.max_extra_kv_bytes=\"77\"",
                        "planner.mesh=\"2x3\"",
                        "runtime.schedule=\"ping-pong\"",
                        "memory.kv_reuse=\"resend\"",
                        "run.folder=\"runs/other\""};
  const Json json = train_config_to_json(read("", given));
  const Json defaults = train_config_to_json(TrainConfig());
  for (const ConfigKey& key : config_keys()) {
    // These have one value only so far, are bound to one of these, or leave the other keys unused.
    const std::set<std::string> single{"train.dtype", "exchange.dtype", "runtime.servers",
                                       "model.checkpoint"};
    if (single.contains(key.name)) continue;
    std::string pointer = "/" + key.name;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const Json::json_pointer at(pointer);
    ASSERT_TRUE(json.contains(at)) << key.name;
    EXPECT_NE(json[at], defaults.value(at, Json())) << key.name;
  }
  EXPECT_EQ(json["model"]["rope_scaling"]["high_freq_factor"], 5.0);
  EXPECT_EQ(json["train"]["beta2"], 0.99);
  EXPECT_EQ(json["data"]["separator"], "\n\n");
  EXPECT_EQ(json["data"]["paths"], Json({"a", "b/**"}));
}

TEST(TrainConfig, ReadsAFileAndThenTheOverrides) {
  const TrainConfig config =
      read(cat(kData, "overflow = \"fragment\"\n[train]\nsteps = 20\nlearning_rate = 3E-4\n"),
           {"train.steps=30", "train.steps = 40", "train.learning_rate=.0003"});
  EXPECT_THAT(config.data.paths, ElementsAre("docs"));
  EXPECT_EQ(config.overflow, Overflow::kFragment);
  EXPECT_EQ(config.steps, 40);
  EXPECT_EQ(config.learning_rate, 0.0003);
}

TEST(TrainConfig, OverridesNeedNoQuotesWhereTheKeyTakesText) {
  const TrainConfig config =
      read("", {"data.paths=/some/docs", "run.folder=2024", "planner.strategy=home",
                "compare.strategies=cad", "data.separator=", "data.overflow=\"drop\""});
  EXPECT_THAT(config.data.paths, ElementsAre("/some/docs"));
  EXPECT_EQ(config.folder, "2024");
  EXPECT_EQ(config.strategy, "home");
  EXPECT_THAT(config.compare_strategies, ElementsAre("cad"));
  EXPECT_EQ(config.data.separator, "");
  EXPECT_EQ(config.overflow, Overflow::kDrop);
}

TEST(TrainConfig, NumbersOutOfRangeOrMalformedAreRefusedByKeyAndPlace) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"train.learning_rate=nan", "a number > 0"},
      {"train.learning_rate=inf", "a number > 0"},
      {"train.learning_rate=-1", "a number > 0"},
      {"train.learning_rate=0", "a number > 0"},
      {"train.learning_rate=1e-5x", "got 1e-5x"},
      {"train.learning_rate=true", "a number > 0"},
      {"train.learning_rate=", "got nothing"},
      {"train.learning_rate=\"1e-5\"", "a number > 0"},
      {"train.beta1=1", "a number >= 0 and < 1"},
      {"train.steps=10.5", "an integer >= 1, got 10.5; give a whole number"},
      {"train.steps=1e3", "give a whole number without point, exponent"},
      {"train.steps=0", "an integer >= 1"},
      {"train.steps=1979-05-27", "an integer >= 1"},
      {"train.steps=99999999999999999999", "an integer >= 1"},
      {"train.steps=3\ntrain.seed=4", "an integer >= 1"},
      {"data.tokens_per_rank=131072k", "got 131072k"},
      {"data.tokens_per_rank=0", "an integer from 1 to"},
      {"train.micro_batches=0", "an integer from 1 to 1048576"},
      {"train.seed=-1", "an integer >= 0"},
      {"runtime.deadline_seconds=0", "a number > 0"},
      {"runtime.threads=-1", "an integer from 0"},
      {"data.begin_token=yes", "true or false"},
      {"data.begin_token=1", "true or false"},
      {"data.overflow=wrap", R"("carry", "fragment", "drop" or "error", got wrap)"},
      {"data.paths=[]", "a list of texts"},
      {"data.paths=[a]", "a list of texts"},
      {"data.paths=[\"a\", 3]", "a list of texts"},
      {"run.folder=", "a text that is not empty"},
      {"model.hidden_size=-8", "an integer >= 1"},
  };
  for (const auto& [text, part] : bad) {
    const std::string key = text.substr(0, text.find('='));
    refuses(kData, {text}, {"--set " + key, ": " + key + ": expected ", part, "got "});
  }
}

TEST(TrainConfig, ErrorsNameTheLineOfTheFile) {
  refuses("[train]\n\nsteps = 10.5\n[data]\npaths = \"d\"\n", {},
          {"run.toml:3: train.steps", "got 10.5"});
  refuses("[train]\nlearning_rate = nan\n", {}, {"run.toml:2: train.learning_rate", "got nan"});
  refuses("[train]\nlearning_rate = 1e-5x\n", {}, {"run.toml:2"});
  refuses("[train]\nsteps = 1\nsteps = 2\n", {}, {"run.toml:3", "steps"});
  refuses("[train\n", {}, {"run.toml:1"});
  refuses(cat(kData, "[train]\nsteps = 5\nwarmup_steps = 6\n"), {},
          {"run.toml:5: train.warmup_steps"});
}

TEST(TrainConfig, AFileThatIsMissingIsTheUsersError) {
  EXPECT_THAT([] { read_train_config("/nonexistent/run.toml", {}); },
              ThrowsMessage<ConfigError>(HasSubstr("/nonexistent/run.toml")));
}

TEST(TrainConfig, UnknownKeysNameWhatWasMeant) {
  refuses("learning_rate = 1e-3\n", {},
          {"run.toml:1", "got learning_rate", "it belongs under [train]"});
  refuses("[model]\nlearning_rate = 1e-3\n", {},
          {"run.toml:2", "it belongs under [train]: train.learning_rate"});
  refuses("[train]\nlearnign_rate = 1e-3\n", {},
          {"run.toml:2", "did you mean train.learning_rate?"});
  refuses("[trian]\nsteps = 3\n", {}, {"train.steps"});
  refuses("[foo]\n", {}, {"run.toml:1", "got foo"});
  refuses("train = 3\n", {}, {"[train] is a section"});
  refuses("[[train]]\nsteps = 3\n", {}, {"[train] is a section"});
  refuses("\"train.steps\" = 3\n", {}, {"got \"train.steps\""});
  refuses("[train.steps]\nx = 3\n", {}, {"got train.steps.x", "train.steps"});
  refuses(kData, {"train.step=3"}, {"--set train.step=3", "did you mean train.steps?"});
  refuses(kData, {"train.steps"}, {"got no '='"});
  EXPECT_NO_THROW(read(cat(kData, "[train]\n[model]\n")));
}

TEST(TrainConfig, SettingsThatCannotWorkTogetherAreRefused) {
  refuses("", {}, {"data.paths", "give [data] paths"});
  refuses(kData, {"train.steps=5", "train.warmup_steps=6"}, {"at most train.steps (5), got 6"});
  refuses(kData, {"train.learning_rate=1e-5", "train.min_learning_rate=1e-4"},
          {"at most train.learning_rate"});
  refuses(kData, {"data.min_length=10", "data.max_length=9"},
          {"at most data.max_length (9), got 10"});
  refuses(kData, {"train.dtype=fp16"}, {"\"fp32\" or \"bf16\""});
  refuses(kData, {"runtime.schedule=pingpong"}, {"\"plain\" or \"ping-pong\""});
  refuses(kData, {"exchange.dtype=bf16"}, {"the model's dtype", "\"fp32\"", "\"bf16\""});
  read(kData, {"exchange.dtype=bf16", "train.dtype=bf16"});
  read(kData, {"exchange.dtype=fp32"});
  refuses(kData, {"runtime.servers=dedicated"}, {"\"in-place\"", "no other so far"});
  refuses(kData, {"planner.strategy=cda"}, {"planner.strategy", "cad"});
  refuses(kData, {"compare.strategies=[\"home\", \"cda\"]"}, {"compare.strategies", "cda"});
  refuses(kData, {"model.vocab_size=257"}, {"at least 258"});
}

TEST(TrainConfig, ModelsThatCannotBeAreRefused) {
  const auto refused_by_model = [](const Overrides& overrides, const std::string& part) {
    EXPECT_THAT([&] { read(kData, overrides); },
                ThrowsMessage<ConfigError>(AllOf(HasSubstr(part), HasSubstr("run.toml"))));
  };
  refused_by_model({"model.num_attention_heads=4", "model.num_key_value_heads=3"},
                   "num_key_value_heads");
  refused_by_model({"model.head_dim=63"}, "head_dim");
  refused_by_model({"model.rope_scaling.factor=2.0"}, "model.rope_scaling.rope_type");
  refuses(kData, {"model.rope_scaling={rope_type=\"yarn\", factor=2.0}"},
          {"expected \"llama3\", got"});
}

TEST(TrainConfig, RopeScalingIsATableWithHuggingFacesNames) {
  EXPECT_FALSE(read(kData).model.rope_scaling.has_value());
  const TrainConfig config =
      read(cat(kData, "[model.rope_scaling]\nrope_type = \"llama3\"\nfactor = 32.0\n"));
  ASSERT_TRUE(config.model.rope_scaling.has_value());
  EXPECT_EQ(config.model.rope_scaling->factor, 32.0);
  EXPECT_EQ(config.model.rope_scaling->original_max_position_embeddings, 8192);
}

TEST(TrainConfig, DefaultsOfWarmupAndLastRateGiveWayToAShortRunOrALowRate) {
  const TrainConfig config = read(kData, {"train.steps=3", "train.learning_rate=1e-5"});
  EXPECT_EQ(config.warmup_steps, 3);
  EXPECT_EQ(config.min_learning_rate, 1e-5);
}

TEST(TrainConfig, ACapacityHoldsAFullBatch) {
  EXPECT_EQ(read(kData).planning.options.capacity, std::nullopt);
  EXPECT_EQ(read(kData, {"planner.capacity=8192"}).planning.options.capacity, 8192);
  refuses(kData, {"planner.capacity=8191"},
          {"planner.capacity", "at least data.tokens_per_rank (8192), got 8191"});
}

TEST(TrainConfig, TheDemoIsValid) {
  const std::string path = CADENZA_SOURCE_DIR "/examples/demo.toml";
  const TrainConfig config = read_train_config(path, {"data.paths=docs"});
  EXPECT_EQ(config.strategy, "cad");
  EXPECT_THAT(config.compare_strategies, ElementsAre("packed", "per_document_cp", "cad"));
  EXPECT_LT(config.model.num_key_value_heads, config.model.num_attention_heads);
  EXPECT_EQ(config.model.resolved_head_dim(), 64);
}

}  // namespace
}  // namespace cadenza
