#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <span>

#include "report/provenance.h"

namespace cadenza {

/// Runs a verb whose options have been parsed; returns the exit code. Errors are thrown.
using VerbCall = std::function<int()>;

/// One verb of the command line.
struct Verb {
  const char* name;
  const char* summary;                // one line
  const char* example;                // a command that works as it stands
  VerbCall (*attach)(CLI::App& app);  // adds its options to `app`; called once
};

/// The table, explicit: a new verb is one file and one row.
std::span<const Verb> all_verbs();

Verb plan_verb();
Verb verify_verb();
Verb profile_verb();
// These need a model: verbs/torch, or verbs/no_torch in a build without libtorch.
Verb train_verb();
Verb compare_verb();
Verb eval_verb();

/// Of this program.
Provenance program_provenance();

}  // namespace cadenza
