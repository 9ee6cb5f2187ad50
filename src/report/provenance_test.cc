#include "report/provenance.h"

#include <gtest/gtest.h>

namespace cadenza {
namespace {

TEST(Provenance, NamesTheBestInstructionSet) {
  EXPECT_EQ(instruction_set_of("fpu avx2 avx512f avx512_bf16 amx_tile amx_bf16"), "amx");
  EXPECT_EQ(instruction_set_of("avx2 avx512f avx512_bf16 amx_tile"), "avx512_bf16");
  EXPECT_EQ(instruction_set_of("avx2 avx512f"), "avx512");
  EXPECT_EQ(instruction_set_of("sse2 avx2"), "avx2");
  EXPECT_EQ(instruction_set_of("sse2 avx2_of_another_name"), "portable");
  EXPECT_EQ(instruction_set_of(""), "portable");
}

TEST(Provenance, SaysWhatRanAndWhere) {
  const Json json = provenance_to_json(current_provenance("1.2.3", {{"torch", "2.13.0"}}));
  EXPECT_EQ(json["version"], "1.2.3");
  EXPECT_EQ(json["libraries"]["torch"], "2.13.0");
  EXPECT_NE(json["command_line"].get<std::string>().find("report_test"), std::string::npos);
  EXPECT_GE(json["threads"].get<int>(), 1);
  EXPECT_EQ(json["date"].get<std::string>().size(), std::string("2026-01-01T00:00:00Z").size());
}

}  // namespace
}  // namespace cadenza
