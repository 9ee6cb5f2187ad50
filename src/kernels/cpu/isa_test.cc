#include "kernels/cpu/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Sets CADENZA_ISA, and puts back what it was.
class Isa : public testing::Test {
 protected:
  Isa() : before_(std::getenv(kName) ? std::getenv(kName) : "") {}
  ~Isa() override { before_.empty() ? unsetenv(kName) : setenv(kName, before_.c_str(), 1); }
  static void force(const char* isa) { setenv(kName, isa, 1); }
  static constexpr const char* kName = "CADENZA_ISA";

 private:
  std::string before_;
};

TEST_F(Isa, TheEnvironmentForcesOne) {
  for (const std::string& isa : cpu::supported_isas()) {
    force(isa.c_str());
    EXPECT_EQ(make_cpu_backend(1)->name(), "cpu/" + isa);
  }
}

TEST_F(Isa, TheFastestRunsUnlessForced) {
  unsetenv(kName);
  const cpu::Isa& fastest = cpu::fastest_isa();
  EXPECT_EQ(make_cpu_backend(1)->name(), cat("cpu/", fastest.name));
  EXPECT_EQ(fastest.fp32, cpu::all_supported().back().fp32);  // only bf16 is a matter of measuring
}

TEST_F(Isa, AnEmulatedOneRunsOnlyWhenForced) {
  for (const std::string& isa : cpu::emulated_isas()) {
    EXPECT_THAT(cpu::supported_isas(), testing::Not(testing::Contains(isa)));
    force(isa.c_str());
    EXPECT_EQ(make_cpu_backend(1)->name(), "cpu/" + isa);
  }
}

TEST_F(Isa, AnUnknownOneIsRefusedListingWhatThereIs) {
  force("sse9");
  EXPECT_THAT([] { make_cpu_backend(1); },
              ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr("CADENZA_ISA"), HasSubstr("portable"), HasSubstr("got 'sse9'"))));
}

TEST_F(Isa, OneThatThisProcessorLacksIsRefused) {
  if (cpu::supported_isas().back() == "amx") GTEST_SKIP() << "this processor has all of them";
  force("amx");
  EXPECT_THAT([] { make_cpu_backend(1); }, ThrowsMessage<ConfigError>(HasSubstr("'amx'")));
}

}  // namespace
}  // namespace cadenza
