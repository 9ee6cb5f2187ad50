#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/result.h"

namespace cadenza::bench {

/// Collects the rows and prints them once: when asked, or when the user interrupts and the call in
/// progress (PyTorch's may take minutes) does not end soon; then it ends the process too.
class ResultPrinter {
 public:
  /// `json` as in BenchOptions. `places` rows of results are printed in the order of their place,
  /// whatever the order they are measured in.
  ResultPrinter(std::optional<std::string> json, size_t places);
  ~ResultPrinter();

  void put(size_t place, std::vector<Result> results);
  /// DataError where the JSON file cannot be written.
  void print();
  bool any_error() const;

 private:
  void watch(const std::stop_token& stop);
  void print_locked();

  std::optional<std::string> json_;
  mutable std::mutex mutex_;
  std::vector<std::vector<Result>> places_;
  bool printed_ = false;
  std::jthread watcher_;
};

}  // namespace cadenza::bench
