#include "report/bars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/error.h"

namespace cadenza {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// Heights of the bars of this class, as drawn.
std::vector<double> heights(const std::string& svg, const std::string& name) {
  const std::regex bar("<rect class=\"" + name + "\"[^>]* height=\"([0-9.]+)\"");
  std::vector<double> found;
  for (std::sregex_iterator at(svg.begin(), svg.end(), bar), end; at != end; ++at)
    found.push_back(std::stod((*at)[1]));
  return found;
}

TEST(Bars, PanelsShareOneScaleInMultiplesOfTheirMeans) {
  // Means 2 and 50: the bars are 0.5, 0.5, 2 and 1, 1, 1 of them; 120 pixels are the largest.
  const std::string svg = bars_to_svg("work", {{"home", {1, 1, 4}}, {"cad", {50, 50, 50}}});
  EXPECT_THAT(heights(svg, "largest"), ElementsAre(120, 60));
  EXPECT_THAT(heights(svg, "bar"), ElementsAre(30, 30, 60, 60));
  EXPECT_THAT(svg, HasSubstr("home: slowest rank 2.00 × the mean"));
  EXPECT_THAT(svg, HasSubstr("cad: slowest rank 1.00 × the mean"));
}

TEST(Bars, KnowDarkPagesAndEscapeTitles) {
  const std::string svg = bars_to_svg("a < b & c", {{"<x>", {1}}});
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(svg, HasSubstr("&lt;x&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("<x>")));
}

TEST(Bars, RefuseWhatHasNoMean) {
  EXPECT_THROW(bars_to_svg("t", {}), InternalError);
  EXPECT_THROW(bars_to_svg("t", {{"p", {}}}), InternalError);
  EXPECT_THROW(bars_to_svg("t", {{"p", {0, 0}}}), InternalError);
}

}  // namespace
}  // namespace cadenza
