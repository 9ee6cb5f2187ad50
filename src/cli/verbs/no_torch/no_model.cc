// Stands in for verbs/torch in a build without libtorch, so that every build has the same verbs.
#include "base/cat.h"
#include "base/error.h"
#include "cli/verb.h"

namespace cadenza {
namespace {

/// Takes any options, so that the answer is what is missing and not an option that this build does
/// not know.
VerbCall refuse(CLI::App& app) {
  app.allow_extras();
  const std::string name = app.get_name();
  return [name]() -> int {
    throw ConfigError(cat("[", name,
                          "] expected a build with libtorch, got one without; run `make build` "
                          "(installs torch into .venv and builds with it) and use build/cadenza"));
  };
}

}  // namespace

Verb train_verb() {
  return {"train", "Trains a model (needs libtorch: run `make build`)",
          "cadenza train examples/demo.toml --nproc 2 --set data.paths=docs", &refuse};
}

Verb compare_verb() {
  return {
      "compare",
      "Trains the same steps under several strategies (needs libtorch: run `make build`)",
      "cadenza compare examples/demo.toml --nproc 2 --set compare.strategies='[\"home\", \"cad\"]'",
      &refuse};
}

Verb eval_verb() {
  return {"eval", "Computes a checkpoint's loss on documents (needs libtorch: run `make build`)",
          "cadenza eval CHECKPOINT_FOLDER documents.json --nproc 2", &refuse};
}

}  // namespace cadenza
