// The only file that sees toml++ (a header of 18,000 lines).
#include "config/config_toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

// Enough for a number, a word or a path; the place says where the rest is.
constexpr size_t kShownBytes = 80;

Json to_json(const toml::node& node);

Json to_json(const toml::table& table) {
  Json object = Json::object();
  for (auto&& [key, node] : table) object[std::string(key.str())] = to_json(node);
  return object;
}

Json to_json(const toml::array& array) {
  Json list = Json::array();
  for (const toml::node& node : array) list.push_back(to_json(node));
  return list;
}

Json to_json(const toml::node& node) {
  if (const auto* table = node.as_table()) return to_json(*table);
  if (const auto* array = node.as_array()) return to_json(*array);
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* boolean = node.as_boolean()) return boolean->get();
  return nullptr;
}

std::string shown(const toml::node& node) {
  if (node.is_table()) return "a section";
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return one_line(text.str());
}

// A dot inside a quoted key must not pass for a section's end.
std::string shown_key(const std::string& key) {
  const bool plain = !key.empty() && key.find('.') == std::string::npos;
  return plain ? key : cat('"', one_line(key), '"');
}

struct Found {
  std::string name;
  const toml::node* node;
  uint32_t line;
};

void flatten(const toml::table& table, const std::string& prefix, std::vector<Found>& found) {
  for (auto&& [key, node] : table) {
    const std::string name = prefix + shown_key(std::string(key.str()));
    const toml::table* inner = node.as_table();
    if (inner != nullptr && !inner->empty()) {
      flatten(*inner, name + ".", found);
    } else {
      found.push_back({name, &node, node.source().begin.line});
    }
  }
}

}  // namespace

std::string one_line(const std::string& text) {
  std::string line = text.substr(0, kShownBytes);
  for (char& byte : line) {
    if (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f) byte = ' ';
  }
  return text.size() > kShownBytes ? line + "..." : line;
}

std::vector<ConfigEntry> parse_toml(const std::string& text, const std::string& file) try {
  const toml::table table = toml::parse(text);
  std::vector<Found> found;
  flatten(table, "", found);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
  std::vector<ConfigEntry> entries;
  for (const Found& f : found) {
    entries.push_back({f.name, to_json(*f.node), shown(*f.node), cat(file, ":", f.line)});
  }
  return entries;
} catch (const toml::parse_error& error) {
  std::string why(error.description());
  std::replace(why.begin(), why.end(), '\n', ' ');
  throw ConfigError(cat("[config] ", file, ":", error.source().begin.line,
                        ": expected TOML, got this: ", why, "; correct the line"));
}

std::optional<std::vector<ConfigEntry>> parse_toml_value(const std::string& name,
                                                         const std::string& text,
                                                         const std::string& place) try {
  const toml::table table = toml::parse("value = " + text);
  // A line break in the text could bring in keys of its own.
  const toml::node* value = table.get("value");
  if (table.size() != 1 || value == nullptr) return std::nullopt;
  const toml::table* inner = value->as_table();
  if (inner == nullptr || inner->empty()) {
    return std::vector<ConfigEntry>{{name, to_json(*value), shown(*value), place}};
  }
  std::vector<Found> found;
  flatten(*inner, name + ".", found);
  std::vector<ConfigEntry> entries;
  for (const Found& f : found) entries.push_back({f.name, to_json(*f.node), shown(*f.node), place});
  return entries;
} catch (const toml::parse_error&) {
  return std::nullopt;
}

}  // namespace cadenza
