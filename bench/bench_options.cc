#include "bench/bench_options.h"

#include <CLI/CLI.hpp>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza::bench {
namespace {

constexpr const char* kDescription =
    "Measures the CPU attention kernels against PyTorch's and against what the machine can do.\n"
    "In each round our call, PyTorch's and a loop of multiply-adds on registers alternate; shown\n"
    "are medians and ratios of medians.";

constexpr const char* kExamples =
    "Examples:\n"
    "  attention_bench --quick\n"
    "  attention_bench --case '^doc8k' --dtype fp32 --phase forward --rounds 7\n"
    "  attention_bench --budget 600 --json bench.json";

/// What CLI11 fills.
struct Words {
  std::string cases, dtype, phase, json;
  bool quick = false, smoke = false;
};

void add_options(CLI::App& app, BenchOptions& options, Words& words) {
  app.add_option("--case", words.cases, "Only cases with a name that this regular expression finds")
      ->option_text("REGEX");
  app.add_option("--dtype", words.dtype, "Of the rows; default both")
      ->check(CLI::IsMember({"fp32", "bf16"}))
      ->option_text("fp32|bf16");
  app.add_option("--phase", words.phase, "Default both")
      ->check(CLI::IsMember({"forward", "forward_backward"}))
      ->option_text("forward|forward_backward");
  app.add_option("--rounds", options.rounds,
                 "Of each case, after a warm-up where 3 or more; default: what fits the budget")
      ->check(CLI::PositiveNumber)
      ->option_text("N");
  app.add_option("--budget", options.budget,
                 "About how long all cases may take: 3 to 15 rounds each; a slow machine takes "
                 "longer, with fewer rounds, but at least one")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->option_text("SECONDS");
  app.add_option("--threads", options.threads, "Of our kernels, of PyTorch and of the peak loop")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->option_text("N");
  app.add_option("--isa", options.isa, "Instruction set of our kernels; default: their choice")
      ->option_text("NAME");
  app.add_option("--lengths", options.lengths,
                 "JSON array of lengths to draw the packed documents from")
      ->option_text("FILE");
  app.add_flag("--quick", words.quick, "Shorter documents; the names of the cases say their size");
  app.add_flag("--smoke", words.smoke, "Tiny documents: only shows that everything runs");
  app.add_flag("--list", options.list, "Print the names of the cases and end");
}

Phases phases_of(const std::string& phase) {
  return {.forward = phase != "forward_backward", .forward_backward = phase != "forward"};
}

std::vector<Dtype> dtypes_of(const std::string& dtype) {
  if (dtype == "fp32") return {Dtype::kFloat32};
  if (dtype == "bf16") return {Dtype::kBFloat16};
  return {Dtype::kFloat32, Dtype::kBFloat16};
}

std::regex regex_of(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& e) {
    throw ConfigError(cat("[attention_bench] expected --case to be a regular expression, got '",
                          text, "' (", e.what(), "); see attention_bench --list for names"));
  }
}

}  // namespace

std::optional<BenchOptions> parse_options(int argc, char** argv) {
  BenchOptions options;
  Words words;
  CLI::App app{kDescription, "attention_bench"};
  app.footer(kExamples);
  add_options(app, options, words);
  const CLI::Option* json =
      app.add_option("--json", words.json, "The rows as JSON, to a file or to standard output")
          ->expected(0, 1)
          ->option_text("[FILE]");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    app.exit(e);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    throw ConfigError(cat("[attention_bench] ", e.what(), "; see attention_bench --help"));
  }
  options.cases = regex_of(words.cases);
  options.dtypes = dtypes_of(words.dtype);
  options.phases = phases_of(words.phase);
  options.size = words.smoke ? CaseSize::kSmoke : words.quick ? CaseSize::kQuick : CaseSize::kFull;
  if (json->count() > 0) options.json = words.json;
  return options;
}

}  // namespace cadenza::bench
