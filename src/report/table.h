#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"

namespace cadenza {

/// A column of a table. `key` names it in JSON; `title` (with the unit in text) heads it in text.
struct Column {
  std::string key;
  std::string title;
  std::string unit = {};  // "GiB", "ms", "%"; empty = none
  int decimals = 3;       // of numbers that are not whole, in text; JSON keeps every digit
  double scale = 1;  // text shows value × scale (bytes as GiB: 1.0 / (1 << 30)); JSON the value
};

/// Text, a whole number, a number, or nothing ("-" in text, null in JSON).
using Cell = std::variant<std::monostate, std::string, int64_t, double>;

/// Rows under named columns: printed aligned for people, and as JSON for programs.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// InternalError unless there is one cell a column.
  void add_row(std::vector<Cell> cells);

  /// A heading line and a line a row; numbers to the right, text to the left, two spaces between.
  std::string to_text() const;

  /// One object a row, by the columns' keys.
  Json to_json() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace cadenza
