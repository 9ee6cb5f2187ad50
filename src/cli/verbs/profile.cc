// cadenza profile: measures this machine's attention, for planning by time instead of by pairs.
#include <cstdio>
#include <iostream>
#include <memory>
#include <thread>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "cli/shape_options.h"
#include "cli/verb.h"
#include "kernels/backend.h"
#include "profile/measure_exchange.h"
#include "profile/measure_profile.h"
#include "profile/recorded_profile.h"

namespace cadenza {
namespace {

struct ProfileVerbOptions {
  ShapeOptions shape;
  int threads = 0;
  double budget = 60;
  bool quick = false;
  bool json = false;
  std::string out, recorded;
};

/// A median error above this is worth another measurement.
constexpr double kGoodError = 0.1;

std::string summary(const Profile& profile) {
  char text[256], error[128];
  std::snprintf(error, sizeof(error),
                "own error on %lld other points: median %.1f %%, worst %.1f %%",
                static_cast<long long>(profile.error.points), 100 * profile.error.median,
                100 * profile.error.worst);
  std::snprintf(text, sizeof(text),
                "%s: %lld x %lld lengths, %lld to %lld query rows x %lld to %lld keys; %s\n",
                profile.kernel.c_str(), static_cast<long long>(profile.forward.q_rows().size()),
                static_cast<long long>(profile.forward.kv_rows().size()),
                static_cast<long long>(profile.forward.q_rows().front()),
                static_cast<long long>(profile.forward.q_rows().back()),
                static_cast<long long>(profile.forward.kv_rows().front()),
                static_cast<long long>(profile.forward.kv_rows().back()),
                profile.error.points > 0 ? error : "own error not known");
  if (profile.error.median <= kGoodError) return text;
  return cat(text,
             "the machine was busy or the budget small: give a larger --budget, or fewer "
             "--threads if others use its cores too\n");
}

int report(const ProfileVerbOptions& options, const Profile& profile) {
  const Json json = profile_to_json(profile);
  if (!options.out.empty()) write_file(options.out, json.dump() + "\n");
  std::cout << (options.json ? json.dump(2) + "\n" : summary(profile));
  return static_cast<int>(ExitCode::kOk);
}

int run_profile(const ProfileVerbOptions& options) {
  if (!(options.budget > 0) || options.threads < 0) {
    throw ConfigError(cat("[profile] expected --budget > 0 and --threads >= 0, got ",
                          options.budget, " and ", options.threads, "; correct them"));
  }
  const int threads = options.threads > 0
                          ? options.threads
                          : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (!options.recorded.empty())
    return report(options, read_recorded_profile(options.recorded, options.shape.shape()));
  const auto backend = make_cpu_backend(threads);
  const ModelShape shape = options.shape.shape();
  Progress progress(true, 0, "call");
  Profile profile = measure_profile(
      *backend, cat("cadenza ", backend->name(), ", ", threads, " threads"),
      {.shape = shape,
       .budget_seconds = options.quick ? 5 : options.budget,
       .progress = [&](int64_t done, int64_t total) { progress.update(done, cat("of ", total)); }});
  progress.finish();
  profile.exchange = measure_exchange(*backend, shape);
  profile.machine = provenance_to_json(program_provenance());
  return report(options, profile);
}

VerbCall attach_profile(CLI::App& app) {
  const auto options = std::make_shared<ProfileVerbOptions>();
  options->shape.attach(app);
  app.add_option("--threads", options->threads, "Threads of the kernel; 0: all cores")
      ->capture_default_str();
  app.add_option("--budget", options->budget, "About how many seconds it may take")
      ->capture_default_str();
  app.add_flag("--quick", options->quick, "5 seconds, a small grid");
  app.add_option("--recorded", options->recorded,
                 "Measure nothing: times of a GPU from a CSV file with the columns L, cp, tp, "
                 "duration_per_doc (milliseconds, forward) of the model given");
  app.add_option("--out", options->out, "Write the profile to this file (JSON)");
  app.add_flag("--json", options->json, "Print the profile instead of a line");
  return [options] { return run_profile(*options); };
}

}  // namespace

Verb profile_verb() {
  return {"profile", "Measures this machine's attention, for 'cadenza plan --cost-model FILE'",
          "cadenza profile --hidden 1024 --kv-width 256 --quick --out profile.json",
          &attach_profile};
}

}  // namespace cadenza
