// attention_bench: parses, measures case by case, prints.
#include <algorithm>
#include <exception>
#include <iostream>

#include "base/cat.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/progress.h"
#include "bench/bench_backend.h"
#include "bench/bench_options.h"
#include "bench/job.h"
#include "bench/measure_case.h"
#include "bench/result_printer.h"

namespace cadenza::bench {
namespace {

bool is_wanted(const Case& one, const BenchOptions& options) {
  return std::any_of(one.variants.begin(), one.variants.end(), [&](const Variant& variant) {
    return std::regex_search(variant.name, options.cases);
  });
}

void announce(const std::vector<Job>& jobs, double budget, const TorchMatmul& matmul) {
  const double least = total_cost(jobs) / (matmul.sample() * 1e9);
  log_info(cat(jobs.size(), " cases; a round of each takes at least ",
               static_cast<int64_t>(least) + 1,
               " s at the speed of fp32 matrix products here; the budget is ", budget, " s",
               least > budget / 3 ? "; --quick takes shorter documents" : ""));
}

void measure_all(const std::vector<Job>& jobs, const BenchOptions& options, const std::string& isa,
                 ResultPrinter& printer) {
  const bool smoke = options.size == CaseSize::kSmoke;
  Peaks peaks(isa, options.threads, smoke ? 128 : 2048, smoke ? 0.004 : 0.04);
  announce(jobs, options.budget, peaks.matmul(Dtype::kFloat32));
  Budget budget(options.budget, total_cost(jobs));
  Progress progress(true, static_cast<int64_t>(jobs.size()), "case", {.line_seconds = 2});
  for (size_t i = 0; i < jobs.size() && !interrupt_requested(); ++i) {
    const Job& job = jobs[i];
    const std::string name = cat(job.one->variants.back().name, " ", dtype_name(job.dtype), ", ");
    const auto show = [&](const std::string& text) {
      progress.update(static_cast<int64_t>(i + 1), name + text);
    };
    printer.put(job.place, measure_case(*job.one,
                                        {.dtype = job.dtype,
                                         .phases = options.phases,
                                         .isa = isa,
                                         .rounds = options.rounds,
                                         .seconds = budget.share(job),
                                         .progress = show},
                                        peaks));
  }
}

void print_names(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    for (const Variant& variant : one.variants) std::cout << variant.name << '\n';
  }
}

ExitCode run(const BenchOptions& options) {
  const std::string isa = isa_of(*backend_of(options.threads, options.isa));
  std::vector<Case> cases = all_cases(options.size, options.threads, options.lengths);
  std::erase_if(cases, [&](const Case& one) { return !is_wanted(one, options); });
  if (options.list) {
    print_names(cases);
    return ExitCode::kOk;
  }
  if (cases.empty()) {
    throw ConfigError(
        "[attention_bench] expected --case to find a case, got none; see attention_bench --list");
  }
  install_interrupt_handler();
  const std::vector<Job> jobs = jobs_of(cases, options.dtypes, options.phases);
  ResultPrinter printer(options.json, jobs.size());
  measure_all(jobs, options, isa, printer);
  printer.print();
  if (interrupt_requested()) return ExitCode::kInterrupted;
  return printer.any_error() ? ExitCode::kInternal : ExitCode::kOk;
}

ExitCode fail(const std::string& message, ExitCode code) {
  std::cerr << "attention_bench: error: " << message << '\n';
  return code;
}

ExitCode parse_and_run(int argc, char** argv) {
  try {
    const std::optional<BenchOptions> options = parse_options(argc, argv);
    return options ? run(*options) : ExitCode::kOk;
  } catch (const Error& e) {
    return fail(e.what(), e.code());
  } catch (const std::exception& e) {
    return fail(cat("[unexpected] ", e.what(), "; this is a bug, please report the command"),
                ExitCode::kInternal);
  }
}

}  // namespace
}  // namespace cadenza::bench

int main(int argc, char** argv) {
  return static_cast<int>(cadenza::bench::parse_and_run(argc, argv));
}
