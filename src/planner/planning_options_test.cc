#include "planner/planning_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace cadenza {
namespace {

const PlanningOption& option_named(const std::string& name) {
  for (const PlanningOption& option : planning_options()) {
    if (option.name == name) return option;
  }
  throw std::logic_error("no option " + name);
}

bool takes(const std::string& name, const std::string& text) {
  PlanningSettings settings;
  return option_named(name).set(settings, text);
}

TEST(PlanningOptions, WhatIsShownCanBeSetAgain) {
  PlanningSettings settings{.tolerance = 0.0625, .cost_model = "p.json", .servers_per_node = 3};
  settings.options = {.split_kv = false,
                      .far_link_weight = 2.5,
                      .placement = Placement::kFree,
                      .effort = Effort::kThorough,
                      .max_recv_bytes = 123,
                      .max_extra_kv_bytes = 45,
                      .capacity = 67,
                      .mesh = MeshShape{2, 3}};
  PlanningSettings copy;
  for (const PlanningOption& option : planning_options()) {
    EXPECT_NE(option.get(settings), option.get(copy)) << option.name << " is not shown";
    EXPECT_TRUE(option.set(copy, option.get(settings))) << option.name;
    EXPECT_EQ(option.get(settings), option.get(copy)) << option.name;
  }
}

TEST(PlanningOptions, NamesAreDifferent) {
  std::set<std::string> names;
  for (const PlanningOption& option : planning_options()) names.insert(option.name);
  EXPECT_EQ(names.size(), planning_options().size());
}

TEST(PlanningOptions, NumbersOutsideOfTheirRangeAreRefused) {
  for (const PlanningOption& option : planning_options()) {
    if (option.type == PlanningOption::Type::kText) continue;
    for (const char* text : {"", "x", "nan", "inf", "-inf", "-1", "1e999", "1 ", "0x", "1,5"})
      EXPECT_FALSE(takes(option.name, text)) << option.name << " = " << text;
  }
  for (const char* name : {"capacity", "servers_per_node"}) {
    EXPECT_FALSE(takes(name, "1.5"));
    EXPECT_FALSE(takes(name, "99999999999"));
    EXPECT_FALSE(takes(name, "99999999999999999999"));
  }
  EXPECT_FALSE(takes("capacity", "0"));
  EXPECT_FALSE(takes("far_link_weight", "0"));
  EXPECT_TRUE(takes("tolerance", "0"));
  EXPECT_TRUE(takes("tolerance", "5e-2"));
}

TEST(PlanningOptions, TextsThatMeanNothingAreRefused) {
  for (const char* text : {"", "2", "2x", "x2", "0x3", "2x-1", "2x3x4", "ax3"})
    EXPECT_FALSE(takes("mesh", text)) << text;
  for (const char* text : {"", "GiB", "-1", "1.5Gb", "1e30"})
    EXPECT_FALSE(takes("max_recv_bytes", text)) << text;
  EXPECT_TRUE(takes("max_recv_bytes", "1.5GiB"));
  EXPECT_FALSE(takes("effort", "slow"));
  EXPECT_FALSE(takes("placement", "Fill"));
  EXPECT_FALSE(takes("cost_model", ""));
}

TEST(PlanningOptions, AnErrorSaysWhereAndWhat) {
  PlanningSettings settings;
  EXPECT_THAT(
      [&] { set_planning_option(settings, option_named("mesh"), "3", "--mesh"); },
      testing::ThrowsMessage<ConfigError>(testing::AllOf(
          testing::HasSubstr("--mesh"), testing::HasSubstr("'3'"), testing::HasSubstr("2x4"))));
}

}  // namespace
}  // namespace cadenza
