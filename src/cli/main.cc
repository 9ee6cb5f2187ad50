// The program `cadenza`: parses, calls a verb, and turns what it throws into one line and an exit
// code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>
#include <list>
#include <string>

#include "base/cat.h"
#include "base/error.h"
#include "cli/launch_ranks.h"
#include "cli/verb.h"

namespace cadenza {
namespace {

constexpr const char* kDescription =
    "Cadenza trains long-context language models with core attention disaggregation:\n"
    "the attention of a batch is cut into tasks, any rank computes any task, and so all\n"
    "ranks finish at the same time, however uneven the documents are.\n"
    "\n"
    "Exit codes: 0 done, 1 our bug or the machine's, 2 usage or input, 3 plan refused,\n"
    "4 peer lost, 5 not finite, 130 interrupted.";

std::string examples() {
  std::string text = "Examples:\n";
  for (const Verb& verb : all_verbs()) text += cat("  ", verb.example, "\n");
  return text + "\n`cadenza VERB --help` lists a verb's options.";
}

int fail(const std::string& message, ExitCode code, int peer = -1) {
  std::string line = message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::cout.flush();
  if (!report_error_to_launcher(static_cast<int>(code), peer, line))
    std::cerr << "cadenza: error: " << line << '\n';
  return static_cast<int>(code);
}

/// The verb that was named, for messages and hints; empty where none was.
std::string verb_named(const CLI::App& app) {
  const auto named = app.get_subcommands();
  return named.empty() ? "" : named.front()->get_name();
}

int parse_and_call(int argc, char** argv) {
  CLI::App app{kDescription, "cadenza"};
  app.set_version_flag("--version", cat("cadenza ", CADENZA_VERSION));
  app.require_subcommand(1);
  app.footer(examples());
  std::list<std::pair<CLI::App*, VerbCall>> calls;
  for (const Verb& verb : all_verbs()) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    sub->footer(cat("Example:\n  ", verb.example));
    calls.emplace_back(sub, verb.attach(*sub));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const std::string verb = verb_named(app);
    return fail(cat("[", verb.empty() ? "command line" : verb, "] ", e.what(), "; see cadenza ",
                    verb.empty() ? "" : verb + " ", "--help"),
                ExitCode::kUsage);
  }
  for (const auto& [sub, call] : calls) {
    if (!sub->parsed()) continue;
    const int code = call();
    if (!std::cout.flush()) {
      return fail(
          "[output] cannot write the result to standard output; see whether the disk is full",
          ExitCode::kInternal);
    }
    return code;
  }
  return static_cast<int>(ExitCode::kInternal);
}

int run(int argc, char** argv) {
  try {
    return parse_and_call(argc, argv);
  } catch (const PeerError& e) {
    return fail(e.what(), e.code(), e.peer());
  } catch (const Error& e) {
    return fail(e.what(), e.code());
  } catch (const std::bad_alloc&) {
    return fail("[memory] expected enough memory, got none; give less work to this machine",
                ExitCode::kInternal);
  } catch (const std::exception& e) {
    return fail(cat("[unexpected] ", e.what(), "; this is a bug, please report the command"),
                ExitCode::kInternal);
  }
}

}  // namespace
}  // namespace cadenza

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of the write, not our death
  return cadenza::run(argc, argv);
}
