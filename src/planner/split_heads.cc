#include "planner/split_heads.h"

namespace cadenza {

Range head_range(const ModelShape& shape, int part, int parts) {
  const int64_t units = parts <= shape.kv_heads ? shape.kv_heads : shape.heads;
  const int64_t heads_per_unit = shape.heads / units;
  return {units * part / parts * heads_per_unit, units * (part + 1) / parts * heads_per_unit};
}

void split_heads(const Task& task, ServerSpan servers, const ModelShape& shape,
                 std::vector<Task>& tasks) {
  for (int part = 0; part < servers.count; ++part) {
    const Range heads = head_range(shape, part, servers.count);
    if (heads.empty()) continue;
    Task mine = task;
    mine.server = servers.first + part;
    mine.heads = heads.size() == shape.heads ? Range{} : heads;  // empty: all
    tasks.push_back(mine);
  }
}

}  // namespace cadenza
