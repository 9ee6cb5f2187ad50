#include "profile/recorded_profile.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"

namespace cadenza {
namespace {

constexpr double kBackward = 2.5;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) {
    while (!cell.empty() && (cell.back() == '\r' || cell.back() == ' ')) cell.pop_back();
    cells.push_back(cell);
  }
  return cells;
}

/// Lines of a CSV file without quotes; every cell that is asked for is a number above 0.
class Csv {
 public:
  explicit Csv(const std::string& path) : path_(path), text_(read_file(path)) {
    std::string line;
    if (!std::getline(text_, line)) refuse("a line of column names", "an empty file");
    header_ = cells_of(line);
  }

  bool next() {
    std::string line;
    while (std::getline(text_, line)) {
      ++line_;
      cells_ = cells_of(line);
      if (!cells_.empty()) return true;
    }
    return false;
  }

  double number(const char* column) const {
    const auto at = std::find(header_.begin(), header_.end(), column);
    if (at == header_.end()) refuse(cat("a column ", column), "none");
    const auto i = static_cast<size_t>(at - header_.begin());
    const std::string text = i < cells_.size() ? cells_[i] : "";
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value > 0) || value > 1e12)
      refuse(cat("a number above 0 in column ", column), cat("'", text, "'"));
    return value;
  }

  [[noreturn]] void refuse(const std::string& expected, const std::string& got) const {
    throw DataError(cat("[recorded profile] ", path_, ":", line_, ": expected ", expected, ", got ",
                        got, "; give a file with the columns L, cp, tp, duration_per_doc"));
  }

 private:
  const std::string path_;
  std::istringstream text_;
  std::vector<std::string> header_, cells_;
  int line_ = 1;
};

/// Seconds by keys, and by query rows.
using Points = std::map<int64_t, std::map<int64_t, double>>;

Points points_of(Csv& csv) {
  Points points;
  while (csv.next()) {
    const auto length = static_cast<int64_t>(csv.number("L"));
    const auto cp = static_cast<int64_t>(csv.number("cp"));
    const double milliseconds = csv.number("duration_per_doc");
    if (csv.number("tp") != 1 || length < 2 * cp) continue;
    points[length / 2][length / cp] = milliseconds * 1e-3;
  }
  return points;
}

/// The time of the nearest number of rows, in proportion.
double seconds_at(const std::map<int64_t, double>& by_rows, int64_t rows) {
  auto nearest = by_rows.lower_bound(rows);
  if (nearest == by_rows.end()) nearest = std::prev(nearest);
  return nearest->second * static_cast<double>(rows) / static_cast<double>(nearest->first);
}

}  // namespace

Profile read_recorded_profile(const std::string& path, const ModelShape& shape) {
  Csv csv(path);
  const Points points = points_of(csv);
  std::vector<int64_t> kv_rows;
  std::set<int64_t> rows;
  for (const auto& [keys, by_rows] : points) {
    kv_rows.push_back(keys);
    for (const auto& point : by_rows) rows.insert(point.first);
  }
  if (kv_rows.size() < 2 || rows.size() < 2) csv.refuse("two lengths with tp 1", "fewer");
  const std::vector<int64_t> q_rows(rows.begin(), rows.end());
  std::vector<std::vector<double>> forward, backward;
  for (const int64_t q : q_rows) {
    forward.emplace_back();
    backward.emplace_back();
    for (const int64_t keys : kv_rows) {
      forward.back().push_back(seconds_at(points.at(keys), q));
      backward.back().push_back(kBackward * forward.back().back());
    }
  }
  const std::string name = std::filesystem::path(path).filename().string();
  return {.kernel = cat("recorded in ", name),
          .shape = shape,
          .forward = {q_rows, kv_rows, forward},
          .backward = {q_rows, kv_rows, backward},
          .error = {},
          .machine = {{"recorded", name}, {"backward", "2.5 x forward, not recorded"}}};
}

}  // namespace cadenza
