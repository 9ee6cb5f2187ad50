#include "kernels/cpu/local_rows.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "base/rng.h"
#include "kernels/backend.h"

namespace cadenza {
namespace {

constexpr int64_t kRows = 40, kHeads = 4, kDim = 3;

/// fp32 or bf16 rows of random values, some with room between rows.
struct Rows {
  Rows(Rng& rng, int64_t dim, Dtype dtype)
      : bytes(static_cast<size_t>(kRows * (kHeads + 1) * dim) * 4) {
    view = contiguous_rows(bytes.data(), dtype, kRows, kHeads, dim);
    if (uniform_below(rng, 2) == 0) view.row_stride += dim;
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t head = 0; head < kHeads; ++head) {
        for (int64_t i = 0; i < dim; ++i) {
          const float value = static_cast<float>(uniform_between(rng, -8, 9)) / 4;
          if (dtype == Dtype::kFloat32) {
            view.f32(row, head)[i] = value;
          } else {
            view.bf16(row, head)[i] = to_bf16(value);
          }
        }
      }
    }
  }
  std::vector<std::byte> bytes;
  RowsView view;
};

/// The same rows x heads twice: on the source's side and on the target's, whose runs end at other
/// rows. Targets do not overlap.
struct Runs {
  std::vector<RowRun> from, to;
};

Runs random_runs(Rng& rng) {
  Runs runs;
  int64_t from = 0, to = 0;
  while (true) {
    const Range heads{static_cast<int64_t>(uniform_below(rng, 2)),
                      static_cast<int64_t>(2 + uniform_below(rng, 3))};
    const int64_t rows = uniform_between(rng, 1, 9);
    from += uniform_between(rng, 0, 2);
    to += uniform_between(rng, 0, 2);
    if (from + rows > kRows || to + rows > kRows) return runs;
    const int64_t cut = uniform_between(rng, 0, rows);
    const auto add = [&](std::vector<RowRun>& list, int64_t first, bool in_two) {
      if (in_two && cut > 0 && cut < rows) {
        list.push_back({{first, first + cut}, heads});
        list.push_back({{first + cut, first + rows}, heads});
      } else {
        list.push_back({{first, first + rows}, heads});
      }
    };
    add(runs.from, from, uniform_below(rng, 2) == 0);
    add(runs.to, to, uniform_below(rng, 2) == 0);
    from += rows;
    to += rows;
  }
}

std::vector<std::byte> packed(Backend& backend, const Rows& rows, const std::vector<RowRun>& runs) {
  std::vector<std::byte> bytes(static_cast<size_t>(Backend::packed_bytes(rows.view, runs)) + 1);
  backend.pack_rows(rows.view, runs, bytes.data());
  return bytes;
}

class LocalRows : public testing::TestWithParam<Dtype> {};

TEST_P(LocalRows, AreWhatPackingAndUnpackingGives) {
  const auto backend = make_cpu_backend(2);
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed);
    const Runs runs = random_runs(rng);
    const Rows from(rng, kDim, GetParam()), lse(rng, 1, Dtype::kFloat32);

    Rng same(seed + 1000), again(seed + 1000);
    Rows copied(same, kDim, GetParam()), unpacked(again, kDim, GetParam());
    backend->copy_rows(from.view, runs.from, copied.view, runs.to);
    backend->unpack_rows(packed(*backend, from, runs.from).data(), runs.to, unpacked.view);
    EXPECT_EQ(copied.bytes, unpacked.bytes);

    Rows sum(same, kDim, Dtype::kFloat32), packed_sum(again, kDim, Dtype::kFloat32);
    backend->add_rows(from.view, runs.from, runs.to, sum.view);
    backend->add_rows(packed(*backend, from, runs.from).data(), GetParam(), runs.to,
                      packed_sum.view);
    EXPECT_EQ(sum.bytes, packed_sum.bytes);

    Rows sum_lse(same, 1, Dtype::kFloat32), packed_lse(again, 1, Dtype::kFloat32);
    *sum_lse.view.f32(0, 0) = *packed_lse.view.f32(0, 0) = -std::numeric_limits<float>::infinity();
    backend->merge_rows(from.view, lse.view, runs.from, runs.to, sum.view, sum_lse.view);
    backend->merge_rows(packed(*backend, from, runs.from).data(), GetParam(),
                        packed(*backend, lse, runs.from).data(), runs.to, packed_sum.view,
                        packed_lse.view);
    EXPECT_EQ(sum.bytes, packed_sum.bytes);
    EXPECT_EQ(sum_lse.bytes, packed_lse.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, LocalRows, testing::Values(Dtype::kFloat32, Dtype::kBFloat16),
                         [](const auto& instance) { return dtype_name(instance.param); });

}  // namespace
}  // namespace cadenza
