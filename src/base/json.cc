#include "base/json.h"

#include <set>
#include <vector>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

// The library keeps the last of two equal keys silently; a file that says two things is refused. A
// reader of its own, because the library's callback during parsing takes time in the square of an
// array's length.
class KeyCheck final : public nlohmann::json_sax<Json> {
 public:
  explicit KeyCheck(const std::string& where) : where_(where) {}

  bool start_object(size_t) override {
    open_objects_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_objects_.pop_back();
    return true;
  }
  bool key(std::string& name) override {
    if (open_objects_.back().insert(name).second) return true;
    throw DataError(cat("[json] ", where_, ": the key ", Json(name).dump(),
                        " stands twice in one object; remove one"));
  }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    throw DataError(cat("[json] ", where_, " is not valid JSON: ", error.what()));
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }

 private:
  const std::string& where_;
  std::vector<std::set<std::string>> open_objects_;
};

}  // namespace

Json parse_json(const std::string& text, const std::string& where) {
  KeyCheck check(where);
  Json::sax_parse(text, &check);
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw DataError(cat("[json] ", where, " is not valid JSON: ", error.what()));
  }
}

}  // namespace cadenza
