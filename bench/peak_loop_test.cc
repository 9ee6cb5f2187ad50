#include "bench/peak_loop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "bench/peak_meter.h"
#include "kernels/cpu/isa.h"

namespace cadenza::bench {
namespace {

TEST(PeakLoop, EveryInstructionSetOfTheKernelsHasOne) {
  for (const std::string& isa : cpu::supported_isas()) {
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBFloat16}) {
      EXPECT_FALSE(peak_loops_of(isa, dtype).empty()) << isa;
    }
  }
}

TEST(PeakLoop, WithoutALoopNamesWhereToAddOne) {
  try {
    peak_loops_of("abacus", Dtype::kFloat32);
    FAIL();
  } catch (const ConfigError& e) {
    EXPECT_NE(std::string(e.what()).find("bench/peak_abacus.cc"), std::string::npos);
  }
}

/// Sums stay finite and never become zero, so that the loop runs on the numbers it is meant for.
TEST(PeakLoop, ResultsStayOrdinaryNumbers) {
  for (const PeakLoop* loop : supported_peak_loops()) {
    for (const int64_t iterations : {1, 1000, 100000}) {
      EXPECT_TRUE(std::isnormal(loop->run(iterations, peak_operands()))) << loop->name;
    }
  }
}

TEST(PeakLoop, EveryIterationChangesTheResult) {
  for (const PeakLoop* loop : supported_peak_loops()) {
    EXPECT_NE(loop->run(1, peak_operands()), loop->run(0, peak_operands())) << loop->name;
    EXPECT_NE(loop->run(2, peak_operands()), loop->run(1, peak_operands())) << loop->name;
  }
}

TEST(PeakMeter, MeasuresOnSeveralThreads) {
  const PeakMeter meter(2, cpu::supported_isas().back(), Dtype::kBFloat16, 0.01);
  EXPECT_GT(meter.sample(), 0);
}

}  // namespace
}  // namespace cadenza::bench
