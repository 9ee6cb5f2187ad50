#pragma once

#include <string>
#include <vector>

namespace cadenza {

/// One panel of a picture: a bar for each value.
struct BarPanel {
  std::string title;
  std::vector<double> values;  // one for each rank, in any unit, none negative
};

/// An SVG picture of the panels below each other. All have one scale: multiples of the mean of
/// their own values, which is a dashed line; the largest bar of each is marked. Readable on light
/// and on dark pages. InternalError for no panel, an empty one, or values whose mean is not above
/// 0.
std::string bars_to_svg(const std::string& title, const std::vector<BarPanel>& panels);

}  // namespace cadenza
