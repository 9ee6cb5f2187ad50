#include "kernels/cpu/merge_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cadenza {
namespace {

template <typename T>
void merge(const T* o, float lse, int64_t dim, float* into_o, float* into_lse) {
  constexpr float kEmpty = -std::numeric_limits<float>::infinity();
  if (lse == kEmpty) return;
  if (*into_lse == kEmpty) {
    for (int64_t d = 0; d < dim; ++d) into_o[d] = to_float(o[d]);
    *into_lse = lse;
    return;
  }
  const double old = *into_lse;
  const double largest = std::max<double>(old, lse);
  const double old_weight = std::exp(old - largest);
  const double new_weight = std::exp(lse - largest);
  const double sum = old_weight + new_weight;
  const float old_share = static_cast<float>(old_weight / sum);
  const float new_share = static_cast<float>(new_weight / sum);
  for (int64_t d = 0; d < dim; ++d) into_o[d] = old_share * into_o[d] + new_share * to_float(o[d]);
  *into_lse = static_cast<float>(largest + std::log(sum));
}

}  // namespace

void merge_row(const float* o, float lse, int64_t dim, float* into_o, float* into_lse) {
  merge(o, lse, dim, into_o, into_lse);
}
void merge_row(const BFloat16* o, float lse, int64_t dim, float* into_o, float* into_lse) {
  merge(o, lse, dim, into_o, into_lse);
}

}  // namespace cadenza
