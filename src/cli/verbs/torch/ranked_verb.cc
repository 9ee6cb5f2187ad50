#include "cli/verbs/torch/ranked_verb.h"

#include <fstream>
#include <sstream>
#include <vector>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/launch_ranks.h"
#include "cli/verb.h"
#include "comm/rendezvous.h"

namespace cadenza {
namespace {

std::vector<std::string> own_command() {
  std::istringstream words(read_file("/proc/self/cmdline"));
  std::vector<std::string> command;
  for (std::string word; std::getline(words, word, '\0');) command.push_back(word);
  return command;
}

}  // namespace

void check_nproc(int nproc) {
  constexpr int kMost =
      1024;  // of one host: far above its cores, far below what fork would take down
  if (nproc > kMost) {
    throw ConfigError(cat("[launch] expected --nproc <= ", kMost, ", got ", nproc,
                          "; more ranks need more hosts, under torchrun, mpirun or srun"));
  }
  if (nproc < 1)
    throw ConfigError(
        cat("[launch] expected --nproc >= 1, got ", nproc, "; --nproc 2 starts two local ranks"));
}

int run_ranked(const RankedVerb& verb) {
  install_interrupt_handler();
  const std::optional<Rendezvous> started = rendezvous_from_environment();
  if (started && verb.nproc > 0 && started->size != verb.nproc) {
    throw ConfigError(cat("[launch] ", started->launcher, " has started ", started->size,
                          " ranks, but --nproc asks for ", verb.nproc,
                          "; leave --nproc out under a launcher"));
  }
  if (!started && verb.nproc > 1) {
    verb.check_inputs();
    return launch_ranks(verb.nproc, own_command(), verb.options.deadline_seconds);
  }
  run_as_rank(verb.options, verb.body);
  return static_cast<int>(ExitCode::kOk);
}

Json made_by(const RankEnvironment& rank, const Json& settings) {
  return {{"provenance", provenance_to_json(program_provenance())},
          {"ranks", rank.group->size()},
          {"threads_per_rank", rank.threads},
          {"transport", rank.group->transport()},
          {"kernels", rank.backend->name()},
          {"config", settings}};
}

}  // namespace cadenza
