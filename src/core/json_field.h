#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/json.h"
#include "core/range.h"

namespace cadenza {

/// A value of a JSON file together with its path in it, so that an error can say which one it is.
/// Holds references: the JSON and the file's name must outlive it.
class JsonField {
 public:
  /// The root. `place` starts every error ("plan" gives "[plan] FILE: ...").
  JsonField(const Json& value, const char* place, const std::string& file)
      : value_(&value), place_(place), file_(&file) {}

  const Json& json() const { return *value_; }
  bool is_array() const { return value_->is_array(); }

  /// Refuses what is no object.
  void require_object() const;
  /// A key that must be there.
  JsonField at(const char* key) const;
  /// A key that may be there.
  std::optional<JsonField> find(const char* key) const;
  /// Number of items; refuses what is no array.
  size_t size() const;
  JsonField item(size_t index) const;

  std::string text() const;
  /// A whole number in [low, high]; fractions, also 1.0, are refused.
  int64_t integer(int64_t low, int64_t high) const;
  /// A finite number above 0.
  double positive() const;
  /// A finite number of at least 0.
  double not_negative() const;
  /// A whole number, or null, for which `if_null` stands.
  int64_t integer_or_null(int64_t low, int64_t high, int64_t if_null) const;
  /// [begin, end] with 0 <= begin <= end <= high.
  Range range(int64_t high) const;

  /// Throws DataError: "[place] FILE: PATH: expected EXPECTED, got VALUE".
  [[noreturn]] void refuse(const std::string& expected) const;

 private:
  JsonField(const JsonField& parent, const Json& value, std::string path)
      : value_(&value), place_(parent.place_), file_(parent.file_), path_(std::move(path)) {}

  const Json* value_;
  const char* place_;
  const std::string* file_;
  std::string path_;
};

}  // namespace cadenza
