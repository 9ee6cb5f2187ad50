#include "planner/planning_options.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/byte_size.h"
#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

using Type = PlanningOption::Type;

/// The whole text as a finite number.
template <typename T>
std::optional<T> number_in(const std::string& text) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) return std::nullopt;
  }
  return value;
}

/// Sets `field` if the text is a number that `legal` takes.
template <typename T, typename Field, typename Legal>
bool set_number(const std::string& text, Field& field, const Legal& legal) {
  const std::optional<T> value = number_in<T>(text);
  if (!value || !legal(*value)) return false;
  field = static_cast<T>(*value);
  return true;
}

bool set_bytes(const std::string& text, std::optional<int64_t>& field) {
  const std::optional<int64_t> bytes = byte_size_in(text);
  if (bytes) field = bytes;
  return bytes.has_value();
}

std::string shown(const std::optional<int64_t>& value) { return value ? cat(*value) : ""; }

/// As few digits as give the same number back.
std::string shown(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

bool set_mesh(const std::string& text, std::optional<MeshShape>& mesh) {
  const size_t cross = text.find('x');
  if (cross == std::string::npos) return false;
  const auto q = number_in<int>(text.substr(0, cross)), kv = number_in<int>(text.substr(cross + 1));
  if (!q || !kv || *q < 1 || *kv < 1) return false;
  mesh = MeshShape{*q, *kv};
  return true;
}

constexpr int64_t kMostTokensOfARank = int64_t{1} << 30;
constexpr int kMostServers = 1 << 20;

constexpr std::array kOptions{
    PlanningOption{"tolerance", Type::kNumber, "a number >= 0",
                   "no server's attention above (1 + tolerance) x mean",
                   [](PlanningSettings& s, const std::string& text) {
                     return set_number<double>(text, s.tolerance, [](double v) { return v >= 0; });
                   },
                   [](const PlanningSettings& s) { return shown(s.tolerance); }},
    PlanningOption{
        "cost_model", Type::kText, "pairs, or the file of a profile",
        "what predicts time: pairs, or the file of a profile that 'cadenza profile' made",
        [](PlanningSettings& s, const std::string& text) {
          if (!text.empty()) s.cost_model = text;
          return !text.empty();
        },
        [](const PlanningSettings& s) { return s.cost_model; }},
    PlanningOption{"servers_per_node", Type::kInteger, "an integer >= 0",
                   "consecutive servers that share a node; 0: all do",
                   [](PlanningSettings& s, const std::string& text) {
                     return set_number<int>(text, s.servers_per_node,
                                            [](int v) { return v >= 0 && v <= kMostServers; });
                   },
                   [](const PlanningSettings& s) { return cat(s.servers_per_node); }},
    PlanningOption{"split_kv", Type::kFlag, "true or false",
                   "cad: a task may read a part of the keys that its queries see",
                   [](PlanningSettings& s, const std::string& text) {
                     s.options.split_kv = text == "true";
                     return text == "true" || text == "false";
                   },
                   [](const PlanningSettings& s) -> std::string {
                     return s.options.split_kv ? "true" : "false";
                   }},
    PlanningOption{"far_link_weight", Type::kNumber, "a number > 0",
                   "cad: a byte between nodes counts as this many inside one",
                   [](PlanningSettings& s, const std::string& text) {
                     return set_number<double>(text, s.options.far_link_weight,
                                               [](double v) { return v > 0; });
                   },
                   [](const PlanningSettings& s) { return shown(s.options.far_link_weight); }},
    PlanningOption{"placement", Type::kText, "fill or free",
                   "cad: fill (tokens in order) or free (homes chosen too)",
                   [](PlanningSettings& s, const std::string& text) {
                     s.options.placement = text == "free" ? Placement::kFree : Placement::kFill;
                     return text == "free" || text == "fill";
                   },
                   [](const PlanningSettings& s) -> std::string {
                     return s.options.placement == Placement::kFree ? "free" : "fill";
                   }},
    PlanningOption{"effort", Type::kText, "quick or thorough",
                   "cad: quick (milliseconds) or thorough (seconds)",
                   [](PlanningSettings& s, const std::string& text) {
                     s.options.effort = text == "thorough" ? Effort::kThorough : Effort::kQuick;
                     return text == "thorough" || text == "quick";
                   },
                   [](const PlanningSettings& s) -> std::string {
                     return s.options.effort == Effort::kThorough ? "thorough" : "quick";
                   }},
    PlanningOption{"max_recv_bytes", Type::kText, "bytes as 512MiB or 1.5GiB",
                   "cad: most Q + K + V that a server may receive in one layer's forward",
                   [](PlanningSettings& s, const std::string& text) {
                     return set_bytes(text, s.options.max_recv_bytes);
                   },
                   [](const PlanningSettings& s) { return shown(s.options.max_recv_bytes); }},
    PlanningOption{"max_extra_kv_bytes", Type::kText, "bytes as 512MiB or 1.5GiB",
                   "cad: most K + V among them",
                   [](PlanningSettings& s, const std::string& text) {
                     return set_bytes(text, s.options.max_extra_kv_bytes);
                   },
                   [](const PlanningSettings& s) { return shown(s.options.max_extra_kv_bytes); }},
    PlanningOption{
        "capacity", Type::kInteger, "an integer from 1 to 1073741824",
        "tokens that a rank may hold if the strategy places documents (hdp, wlb, ...); not "
        "given: the room of each rank",
        [](PlanningSettings& s, const std::string& text) {
          return set_number<int64_t>(text, s.options.capacity,
                                     [](int64_t v) { return v >= 1 && v <= kMostTokensOfARank; });
        },
        [](const PlanningSettings& s) { return shown(s.options.capacity); }},
    PlanningOption{
        "mesh", Type::kText, "AxB, chunks of queries and of keys a server, such as 2x4",
        "mesh: chunks of queries and keys a server; not given: what moves fewest bytes",
        [](PlanningSettings& s, const std::string& text) { return set_mesh(text, s.options.mesh); },
        [](const PlanningSettings& s) {
          const auto& mesh = s.options.mesh;
          return mesh ? cat(mesh->q_chunks, "x", mesh->kv_chunks) : std::string();
        }},
};

}  // namespace

std::span<const PlanningOption> planning_options() { return kOptions; }

void set_planning_option(PlanningSettings& settings, const PlanningOption& option,
                         const std::string& text, const std::string& where) {
  if (option.set(settings, text)) return;
  throw ConfigError(cat("[planner] ", where, ": expected ", option.expected, ", got '", text,
                        "'; it says ", option.help));
}

}  // namespace cadenza
