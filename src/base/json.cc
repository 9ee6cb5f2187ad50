#include "base/json.h"

#include <set>
#include <vector>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {

Json parse_json(const std::string& text, const std::string& where) {
  // The library keeps the last of two equal keys silently; a file that says two things is refused.
  std::vector<std::set<std::string>> open_objects;
  const auto on_event = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == Json::parse_event_t::object_end) open_objects.pop_back();
    if (event == Json::parse_event_t::key &&
        !open_objects.back().insert(parsed.get<std::string>()).second) {
      throw DataError(cat("[json] ", where, ": the key ", parsed.dump(), " stands twice in one object"));
    }
    return true;
  };
  try {
    return Json::parse(text, on_event);
  } catch (const Json::exception& error) {
    throw DataError(cat("[json] ", where, " is not valid JSON: ", error.what()));
  }
}

}  // namespace cadenza
