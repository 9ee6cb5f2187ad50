#include "report/table.h"

#include <algorithm>
#include <cstdio>

#include "base/check.h"

namespace cadenza {
namespace {

std::string number_text(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string cell_text(const Cell& cell, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) {
    return number_text(*number * column.scale, column.decimals);
  }
  if (const auto* whole = std::get_if<int64_t>(&cell)) {
    if (column.scale == 1) return std::to_string(*whole);
    return number_text(static_cast<double>(*whole) * column.scale, column.decimals);
  }
  return "-";
}

Json cell_json(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  if (const auto* whole = std::get_if<int64_t>(&cell)) return *whole;
  return nullptr;
}

/// Characters, not bytes: a UTF-8 continuation byte takes no column.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, size_t width, bool to_right) {
  const std::string space(width - width_of(text), ' ');
  return to_right ? space + text : text + space;
}

using Lines = std::vector<std::vector<std::string>>;  // [line][column]

std::string joined(const Lines& lines, const std::vector<bool>& to_right) {
  std::vector<size_t> widths(to_right.size(), 0);
  for (const auto& line : lines) {
    for (size_t c = 0; c < line.size(); ++c) widths[c] = std::max(widths[c], width_of(line[c]));
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (size_t c = 0; c < line.size(); ++c) {
      row += (c == 0 ? "" : "  ") + padded(line[c], widths[c], to_right[c]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + '\n';
  }
  return text;
}

}  // namespace

void Table::add_row(std::vector<Cell> cells) {
  CADENZA_CHECK(cells.size() == columns_.size(), cells.size(), " cells, ", columns_.size(),
                " columns");
  rows_.push_back(std::move(cells));
}

std::string Table::to_text() const {
  Lines lines(1);
  std::vector<bool> to_right;  // a column of numbers; a missing cell counts as one
  for (size_t c = 0; c < columns_.size(); ++c) {
    const Column& column = columns_[c];
    lines[0].push_back(column.unit.empty() ? column.title : column.title + " " + column.unit);
    to_right.push_back(std::none_of(rows_.begin(), rows_.end(), [c](const auto& row) {
      return std::holds_alternative<std::string>(row[c]);
    }));
  }
  for (const auto& row : rows_) {
    lines.emplace_back();
    for (size_t c = 0; c < row.size(); ++c) lines.back().push_back(cell_text(row[c], columns_[c]));
  }
  return joined(lines, to_right);
}

Json Table::to_json() const {
  Json rows = Json::array();
  for (const auto& row : rows_) {
    Json object = Json::object();
    for (size_t c = 0; c < row.size(); ++c) object[columns_[c].key] = cell_json(row[c]);
    rows.push_back(std::move(object));
  }
  return rows;
}

}  // namespace cadenza
