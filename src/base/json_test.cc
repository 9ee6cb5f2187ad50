#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace cadenza {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Json, KeysKeepTheirOrder) {
  EXPECT_EQ(parse_json(R"({"b": 1, "a": [2, {"d": 3, "c": 4}]})", "x").dump(),
            R"({"b":1,"a":[2,{"d":3,"c":4}]})");
}

TEST(Json, ARepeatedKeyIsRefused) {
  EXPECT_THAT(
      [] { parse_json(R"({"a": 1, "b": {"c": 1, "c": 2}})", "my.json"); },
      ThrowsMessage<DataError>(AllOf(HasSubstr("my.json"), HasSubstr("\"c\" stands twice"))));
  // The same key in two objects is no repetition.
  EXPECT_NO_THROW(parse_json(R"([{"a": {"a": 1}}, {"a": 2}])", "my.json"));
}

TEST(Json, ASyntaxErrorNamesFileAndLine) {
  EXPECT_THAT([] { parse_json("{\n\"a\": ]", "my.json"); },
              ThrowsMessage<DataError>(AllOf(HasSubstr("my.json"), HasSubstr("line 2"))));
  EXPECT_THROW(parse_json("", "my.json"), DataError);
}

}  // namespace
}  // namespace cadenza
