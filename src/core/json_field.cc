#include "core/json_field.h"

#include <cmath>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

// A value as an error shows it: enough to recognise it, on one line.
std::string shown(const Json& value) {
  constexpr size_t kLongest = 60;
  // Invalid UTF-8 is replaced: an error about an error would hide the first.
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

// Whether a JSON integer lies in [low, high]; the parser keeps those above 2^63 - 1 unsigned.
bool in_range(const Json& value, int64_t low, int64_t high) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    return high >= 0 && number <= static_cast<uint64_t>(high) &&
           static_cast<int64_t>(number) >= low;
  }
  const auto number = value.get<int64_t>();
  return low <= number && number <= high;
}

}  // namespace

void JsonField::require_object() const {
  if (!value_->is_object()) refuse("an object");
}

JsonField JsonField::at(const char* key) const {
  auto field = find(key);
  if (!field) {
    throw DataError(cat('[', place_, "] ", *file_, ": ", path_, path_.empty() ? "" : ": ",
                        "expected the key \"", key, "\", got none; add it"));
  }
  return *std::move(field);
}

std::optional<JsonField> JsonField::find(const char* key) const {
  require_object();
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return JsonField(*this, *found, path_.empty() ? std::string(key) : path_ + '.' + key);
}

size_t JsonField::size() const {
  if (!value_->is_array()) refuse("an array");
  return value_->size();
}

JsonField JsonField::item(size_t index) const {
  return JsonField(*this, (*value_)[index], path_ + '[' + std::to_string(index) + ']');
}

std::string JsonField::text() const {
  if (!value_->is_string()) refuse("a string");
  return value_->get<std::string>();
}

int64_t JsonField::integer(int64_t low, int64_t high) const {
  if (!value_->is_number_integer() || !in_range(*value_, low, high)) {
    refuse(cat("an integer from ", low, " to ", high));
  }
  return value_->get<int64_t>();
}

double JsonField::positive() const {
  const double number = not_negative();
  if (number == 0) refuse("a number > 0");
  return number;
}

double JsonField::not_negative() const {
  if (!value_->is_number()) refuse("a number >= 0");
  const auto number = value_->get<double>();
  if (!(number >= 0) || !std::isfinite(number)) refuse("a number >= 0");
  return number;
}

int64_t JsonField::integer_or_null(int64_t low, int64_t high, int64_t if_null) const {
  if (value_->is_null()) return if_null;
  if (!value_->is_number_integer()) refuse("an integer or null");
  return integer(low, high);
}

Range JsonField::range(int64_t high) const {
  if (!value_->is_array() || value_->size() != 2) refuse("[begin, end]");
  const Range range{item(0).integer(0, high), item(1).integer(0, high)};
  if (range.begin > range.end) refuse("[begin, end] with begin <= end");
  return range;
}

void JsonField::refuse(const std::string& expected) const {
  throw DataError(cat('[', place_, "] ", *file_, ": ", path_, path_.empty() ? "" : ": ",
                      "expected ", expected, ", got ", shown(*value_)));
}

}  // namespace cadenza
