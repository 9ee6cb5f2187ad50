#include "bench/result_printer.h"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/interrupt.h"

namespace cadenza::bench {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(50);
constexpr auto kGrace = std::chrono::seconds(3);

}  // namespace

ResultPrinter::ResultPrinter(std::optional<std::string> json, size_t places)
    : json_(std::move(json)),
      places_(places),
      watcher_([this](const std::stop_token& stop) { watch(stop); }) {}

ResultPrinter::~ResultPrinter() = default;

void ResultPrinter::put(size_t place, std::vector<Result> results) {
  const std::lock_guard lock(mutex_);
  places_[place] = std::move(results);
}

void ResultPrinter::print() {
  const std::lock_guard lock(mutex_);
  print_locked();
}

void ResultPrinter::print_locked() {
  if (std::exchange(printed_, true)) return;
  std::vector<Result> all;
  for (const auto& results : places_) all.insert(all.end(), results.begin(), results.end());
  const std::string json = json_ ? results_json(all).dump(1) + '\n' : "";
  if (json_ && !json_->empty()) write_file(*json_, json);
  std::cout << (json_ && json_->empty() ? json : results_text(all)) << std::flush;
}

bool ResultPrinter::any_error() const {
  const std::lock_guard lock(mutex_);
  for (const auto& results : places_) {
    for (const Result& result : results) {
      if (!result.error.empty()) return true;
    }
  }
  return false;
}

void ResultPrinter::watch(const std::stop_token& stop) {
  while (!interrupt_requested()) {
    if (stop.stop_requested()) return;
    std::this_thread::sleep_for(kPoll);
  }
  const auto end = std::chrono::steady_clock::now() + kGrace;
  while (std::chrono::steady_clock::now() < end) {
    if (stop.stop_requested()) return;
    std::this_thread::sleep_for(kPoll);
  }
  const std::lock_guard lock(mutex_);
  try {
    print_locked();
  } catch (const std::exception& e) {
    std::cerr << "attention_bench: error: " << e.what() << '\n';
  }
  std::_Exit(static_cast<int>(ExitCode::kInterrupted));  // a kernel's call cannot be cancelled
}

}  // namespace cadenza::bench
