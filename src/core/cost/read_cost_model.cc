#include "core/cost/read_cost_model.h"

#include "base/cat.h"
#include "base/error.h"
#include "core/cost/profile_cost_model.h"

namespace cadenza {
namespace {

std::string words(const ModelShape& shape) {
  return cat(shape.heads, " heads, ", shape.kv_heads, " kv heads, head_dim ", shape.head_dim, ", ",
             dtype_name(shape.dtype));
}

/// Not the dtype of gradients on the wire: kernels sum those in fp32 whatever it is.
bool same_attention(const ModelShape& a, const ModelShape& b) {
  return a.heads == b.heads && a.kv_heads == b.kv_heads && a.head_dim == b.head_dim &&
         a.dtype == b.dtype;
}

void check_shape(const std::string& path, const ModelShape& made_for, const ModelShape& planned) {
  if (same_attention(made_for, planned)) return;
  throw ConfigError(cat(
      "[cost model] ", path, ": expected a profile of the planned attention, ", words(planned),
      ", got one of ", words(made_for), "; make one with: cadenza profile --hidden ",
      planned.heads * planned.head_dim, " --kv-width ", planned.kv_heads * planned.head_dim,
      " --head-dim ", planned.head_dim, " --dtype ", dtype_name(planned.dtype), " --out PROFILE"));
}

}  // namespace

std::unique_ptr<CostModel> read_cost_model(const std::string& pairs_or_file,
                                           const ModelShape& shape) {
  if (pairs_or_file == "pairs") return std::make_unique<PairsCostModel>();
  Profile profile = read_profile(pairs_or_file);
  check_shape(pairs_or_file, profile.shape, shape);
  return std::make_unique<ProfileCostModel>(std::move(profile));
}

}  // namespace cadenza
