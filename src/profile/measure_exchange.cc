#include "profile/measure_exchange.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include "base/memory.h"
#include "comm/inproc.h"

namespace cadenza {
namespace {

constexpr int kTries = 15;

/// The longer message holds what a server gets from another in a layer, the shorter nothing.
constexpr size_t kBytes = 16 << 20;

/// A message that takes longer is a fault.
constexpr double kDeadlineSeconds = 60;

template <typename Work>
double fastest_of(const Work& work) {
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kTries; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const auto taken = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, std::chrono::duration<double>(taken).count());
  }
  return fastest;
}

/// One rank's part of an exchange of as many bytes in both directions.
class Side {
 public:
  explicit Side(Group& group) : group_(group), sent_(kBytes), received_(kBytes) {}

  void exchange(size_t bytes) {
    const Rank peer = 1 - group_.rank();
    const auto receive = group_.post_receive(peer, 0, std::span(received_).first(bytes));
    const auto send = group_.post_send(peer, 0, std::span(sent_).first(bytes));
    receive->wait(Deadline::after_seconds(kDeadlineSeconds));
    send->wait(Deadline::after_seconds(kDeadlineSeconds));
  }

  double seconds(size_t bytes) {
    return fastest_of([&] { exchange(bytes); });
  }

 private:
  Group& group_;
  std::vector<std::byte> sent_, received_;
};

double pack_bytes_per_second(Backend& backend, const ModelShape& shape) {
  const int64_t rows = std::max<int64_t>(64, static_cast<int64_t>(kBytes) / shape.q_row_bytes());
  const int64_t bytes = rows * shape.q_row_bytes();
  HostBlock source(bytes), packed(bytes);
  std::fill_n(static_cast<std::byte*>(source.data()), bytes, std::byte{0});
  const RowsView view =
      contiguous_rows(source.data(), shape.dtype, rows, shape.heads, shape.head_dim);
  std::vector<RowRun> runs;  // every other tile, as a cut leaves them
  for (int64_t row = 0; row < rows; row += 2 * 128)
    runs.push_back({{row, std::min(rows, row + 128)}, {0, shape.heads}});
  const auto taken =
      fastest_of([&] { backend.pack_rows(view, runs, static_cast<std::byte*>(packed.data())); });
  return static_cast<double>(Backend::packed_bytes(view, runs)) / taken;
}

}  // namespace

ExchangeCost measure_exchange(Backend& backend, const ModelShape& shape) {
  const auto groups = make_inproc_groups(2);
  ExchangeCost cost;
  std::exception_ptr failed;
  std::thread other([&] {
    try {
      Side side(*groups[1]);
      side.seconds(1);
      side.seconds(kBytes);
    } catch (...) {
      failed = std::current_exception();
    }
  });
  {
    Side side(*groups[0]);
    cost.latency_seconds = side.seconds(1);
    const double all = side.seconds(kBytes);
    cost.bytes_per_second =
        static_cast<double>(kBytes) / std::max(1e-9, all - cost.latency_seconds);
  }
  other.join();
  if (failed) std::rethrow_exception(failed);
  cost.pack_bytes_per_second = pack_bytes_per_second(backend, shape);
  return cost;
}

}  // namespace cadenza
