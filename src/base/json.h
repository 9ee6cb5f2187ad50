#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cadenza {

/// Keys keep the order in which they were written, so that files and tables can be diffed.
using Json = nlohmann::ordered_json;

/// Parses text; a syntax error or a repeated key is a DataError naming `where` (a file name), line
/// and column.
Json parse_json(const std::string& text, const std::string& where);

}  // namespace cadenza
