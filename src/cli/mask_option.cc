#include "cli/mask_option.h"

#include <charconv>
#include <vector>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw ConfigError(
      cat("[--mask] expected causal, window:W[:S], chunked:C, prefix:P or full, got '", text, "'",
          why, "; for example --mask window:4096"));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text) {
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

int64_t number(const std::string& text, const std::string& part, int64_t least) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
  if (error != std::errc() || end != part.data() + part.size() || value < least) {
    refuse(text, cat(" ('", part, "' is not a number >= ", least, ")"));
  }
  return value;
}

}  // namespace

Mask mask_from_option(const std::string& text) {
  const std::vector<std::string> parts = split(text);
  const std::string& kind = parts[0];
  if (kind == "causal" && parts.size() == 1) return {};
  if (kind == "full" && parts.size() == 1)
    return {.kind = Mask::Kind::kFull, .explicit_pieces = {}};
  if (kind == "chunked" && parts.size() == 2) {
    return {
        .kind = Mask::Kind::kChunked, .chunk = number(text, parts[1], 1), .explicit_pieces = {}};
  }
  if (kind == "prefix" && parts.size() == 2) {
    return {
        .kind = Mask::Kind::kPrefix, .prefix = number(text, parts[1], 0), .explicit_pieces = {}};
  }
  if (kind == "window" && (parts.size() == 2 || parts.size() == 3)) {
    return {.kind = Mask::Kind::kWindow,
            .window = number(text, parts[1], 1),
            .sinks = parts.size() == 3 ? number(text, parts[2], 0) : 0,
            .explicit_pieces = {}};
  }
  refuse(text, "");
}

}  // namespace cadenza
