// cadenza eval: mean loss, per-token losses and gradients of a checkpoint over documents.
#include <CLI/App.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/planning_options.h"
#include "cli/shape_options.h"
#include "cli/verb.h"
#include "cli/verbs/torch/ranked_verb.h"
#include "eval/eval_documents.h"
#include "eval/evaluate.h"
#include "model/families.h"
#include "model/model_config.h"
#include "planner/strategy.h"

namespace cadenza {
namespace {

struct EvalVerbOptions {
  std::string checkpoint, documents;
  int nproc = 0;
  CLI::Option* nproc_option = nullptr;
  bool json = false, per_token = false;
  int threads = 0;
  std::string dtype = "fp32";
  EvalOptions eval;
};

Json losses_json(const EvalResult& result) {
  Json losses = Json::array();
  for (const auto& loss : result.per_token_loss)
    losses.push_back(loss ? Json(*loss) : Json(nullptr));
  return losses;
}

Json report_of(const EvalVerbOptions& options, const EvalResult& result,
               const RankEnvironment& rank) {
  Json report = {{"checkpoint", options.checkpoint},      {"documents", options.documents},
                 {"strategy", options.eval.strategy},     {"dtype", options.dtype},
                 {"loss_mean", result.loss_mean},         {"perplexity", result.perplexity},
                 {"valid_targets", result.valid_targets}, {"tokens", result.tokens}};
  report["per_token_loss"] = losses_json(result);
  if (!options.eval.gradients_path.empty()) report["gradients"] = options.eval.gradients_path;
  report["made_by"] = made_by(rank, {{"tolerance", options.eval.planning.tolerance},
                                     {"tokens_per_rank", options.eval.tokens_per_rank}});
  return report;
}

void print_text(const EvalVerbOptions& options, const EvalResult& result) {
  std::cout << cat("loss_mean ", result.loss_mean, "  perplexity ", result.perplexity,
                   "  valid_targets ", result.valid_targets, "  tokens ", result.tokens, "\n");
  if (options.per_token) std::cout << losses_json(result).dump() << "\n";
  std::cout << std::flush;
}

/// The gradients' file must be new or replace no input, and its folder be there: known before the
/// work, not after.
void check_gradients_path(const EvalVerbOptions& options) {
  namespace fs = std::filesystem;
  const fs::path target = options.eval.gradients_path;
  if (target.empty()) return;
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  if (!fs::is_directory(folder) || fs::is_directory(target)) {
    throw ConfigError(cat("[eval] expected --gradients FILE in a folder that exists, got ",
                          options.eval.gradients_path));
  }
  const fs::path checkpoint = options.checkpoint;
  for (const fs::path& input : {checkpoint / "model.safetensors", checkpoint / "config.json",
                                fs::path(options.documents)}) {
    std::error_code missing;
    if (!fs::equivalent(target, input, missing)) continue;
    throw ConfigError(cat("[eval] --gradients ", options.eval.gradients_path,
                          " would overwrite an input; give another file"));
  }
}

int run_eval(const EvalVerbOptions& options) {
  if (options.nproc_option->count() > 0) check_nproc(options.nproc);
  find_strategy(options.eval.strategy);
  dtype_of_option(options.dtype);
  check_gradients_path(options);
  if (options.threads < 0) {
    throw ConfigError(
        cat("[eval] expected --threads >= 0, got ", options.threads, "; 0 shares the cores"));
  }
  if (options.eval.tokens_per_rank < 1 || !(options.eval.deadline_seconds > 0)) {
    throw ConfigError("[eval] expected --tokens-per-rank >= 1 and --deadline > 0");
  }
  RankedVerb verb{
      .nproc = options.nproc,
      .options = {.threads = options.threads, .deadline_seconds = options.eval.deadline_seconds},
      .check_inputs =
          [&] {
            const std::string path = options.checkpoint + "/config.json";
            const ModelConfig model =
                model_config_from_json(parse_json(read_file(path), path), path);
            read_eval_documents(options.documents, model.vocab_size);
          },
      .body = {}};
  verb.body = [&](RankEnvironment& rank) {
    const auto model = load_model(options.checkpoint, {.dtype = dtype_of_option(options.dtype)});
    const MemoryTokens documents = read_eval_documents(options.documents, model->vocab_size());
    const EvalResult result = evaluate(rank, *model, documents, options.eval);
    if (rank.group->rank() != 0) return;
    if (options.json) {
      std::cout << report_of(options, result, rank).dump(2) << std::endl;
    } else {
      print_text(options, result);
    }
  };
  return run_ranked(verb);
}

VerbCall attach_eval(CLI::App& app) {
  const auto options = std::make_shared<EvalVerbOptions>();
  app.add_option(
         "checkpoint", options->checkpoint,
         "Hugging Face folder: config.json and model.safetensors of a Llama or Mistral model")
      ->required();
  app.add_option("documents", options->documents,
                 "A .json file {\"documents\": [[token ids], ...]}; else text: a file, folder or "
                 "glob (byte vocabulary)")
      ->required();
  options->nproc_option =
      app.add_option("--nproc", options->nproc, "Start this many ranks on this machine");
  app.add_option("--dtype", options->dtype,
                 "fp32 or bf16: of activations and the weights they meet; gradients are written in "
                 "fp32")
      ->capture_default_str();
  app.add_option("--strategy", options->eval.strategy,
                 "Who computes which attention; any gives the same loss")
      ->capture_default_str();
  attach_planning_options(app, options->eval.planning);
  app.add_option("--tokens-per-rank", options->eval.tokens_per_rank,
                 "Documents are batched up to this; a longer one is never cut")
      ->capture_default_str();
  app.add_option("--threads", options->threads,
                 "Threads of each rank; 0: cores / ranks on this machine");
  app.add_option("--deadline", options->eval.deadline_seconds,
                 "Longest wait for another rank, seconds")
      ->capture_default_str();
  app.add_option("--gradients", options->eval.gradients_path,
                 "Write the gradient of the mean loss to this safetensors file, by the "
                 "checkpoint's tensor names");
  app.add_flag("--per-token", options->per_token,
               "Print every token's loss too, null if there is no target (--json always has them)");
  app.add_flag("--json", options->json, "Print one JSON object");
  return [options] { return run_eval(*options); };
}

}  // namespace

Verb eval_verb() {
  return {"eval", "Mean loss, per-token losses and gradients of a Hugging Face checkpoint",
          "cadenza eval CHECKPOINT_FOLDER documents.json --nproc 2 --json --gradients "
          "gradients.safetensors",
          &attach_eval};
}

}  // namespace cadenza
