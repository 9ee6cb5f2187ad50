#include "report/table.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace cadenza {
namespace {

Table two_rows() {
  Table table(
      {{.key = "name", .title = "strategy"},
       {.key = "bytes", .title = "moved", .unit = "GiB", .decimals = 2, .scale = 1.0 / (1 << 30)},
       {.key = "ratio", .title = "max/mean", .decimals = 3}});
  table.add_row({std::string("home"), int64_t{0}, 2.5});
  table.add_row({std::string("cad"), int64_t{3} << 29, {}});
  return table;
}

TEST(Table, AlignsTextLeftAndNumbersRight) {
  EXPECT_EQ(two_rows().to_text(),
            "strategy  moved GiB  max/mean\n"
            "home           0.00     2.500\n"
            "cad            1.50         -\n");
}

TEST(Table, KeepsUnscaledValuesInJson) {
  EXPECT_EQ(
      two_rows().to_json().dump(),
      R"([{"name":"home","bytes":0,"ratio":2.5},{"name":"cad","bytes":1610612736,"ratio":null}])");
}

TEST(Table, AlignsByCharactersNotBytes) {
  Table table({{.key = "a", .title = "a"}, {.key = "b", .title = "b"}});
  table.add_row({std::string("µs"), std::string("x")});
  table.add_row({std::string("ms"), std::string("y")});
  EXPECT_EQ(table.to_text(), "a   b\nµs  x\nms  y\n");
}

TEST(Table, RefusesARowOfAnotherWidth) {
  Table table(std::vector<Column>{{.key = "a", .title = "a"}});
  EXPECT_THROW(table.add_row({}), InternalError);
}

}  // namespace
}  // namespace cadenza
