#include "planner/last_holders.h"

#include <algorithm>
#include <utility>

namespace cadenza {
namespace {

void append(HeldRows next, std::vector<HeldRows>& held) {
  if (next.rows.empty()) return;
  if (!held.empty() && held.back().holder == next.holder &&
      held.back().rows.end == next.rows.begin) {
    held.back().rows.end = next.rows.end;
  } else {
    held.push_back(next);
  }
}

}  // namespace

void LastHolders::set(Range rows, Rank holder) {
  if (rows.empty()) return;
  std::vector<HeldRows> after;
  for (const HeldRows& held : held_) {
    if (held.rows.begin >= rows.begin) break;
    append({{held.rows.begin, std::min(held.rows.end, rows.begin)}, held.holder}, after);
  }
  append({rows, holder}, after);
  for (const HeldRows& held : held_)
    append({{std::max(held.rows.begin, rows.end), held.rows.end}, held.holder}, after);
  held_ = std::move(after);
}

std::vector<HeldRows> LastHolders::of(Range rows) const {
  std::vector<HeldRows> parts;
  int64_t next = rows.begin;
  for (const HeldRows& held : held_) {
    const Range part = intersect(held.rows, rows);
    if (part.empty()) continue;
    append({{next, part.begin}, Task::kHome}, parts);
    append({part, held.holder}, parts);
    next = part.end;
  }
  append({{next, rows.end}, Task::kHome}, parts);
  return parts;
}

}  // namespace cadenza
