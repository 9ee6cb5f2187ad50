#include "kernels/cpu/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace cadenza {
namespace {

TEST(OpenmpParallel, RunsEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    std::vector<std::atomic<int>> runs(100);
    openmp_parallel(threads)(100, [&](int64_t i) { ++runs[static_cast<size_t>(i)]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(OpenmpParallel, ThrowsTheExceptionOfABody) {
  for (const int threads : {1, 3}) {
    const auto body = [](int64_t i) {
      if (i == 7) throw std::runtime_error("seven");
    };
    EXPECT_THROW(openmp_parallel(threads)(20, body), std::runtime_error);
  }
}

}  // namespace
}  // namespace cadenza
