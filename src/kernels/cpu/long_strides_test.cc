#include <sys/mman.h>

#include "kernels/attention_case_test.h"

namespace cadenza {
namespace {

/// Rows far apart in memory that is backed only where it is touched.
class SparseMemory {
 public:
  SparseMemory(int64_t rows, int64_t stride)
      : stride_(stride), bytes_(4 * static_cast<size_t>(rows * stride)) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    data_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
  }
  ~SparseMemory() {
    if (ok()) munmap(data_, bytes_);
  }
  bool ok() const { return data_ != MAP_FAILED; }
  /// The rows of `like` at columns of their own, with its contents.
  RowsView spread(const TestRows& like) {
    RowsView view = like.view;
    view.data = static_cast<float*>(data_) + used_;
    view.row_stride = stride_;
    used_ += view.heads * view.head_stride;
    for (int64_t row = 0; row < view.rows; ++row) {
      for (int64_t head = 0; head < view.heads; ++head) {
        std::copy_n(like.view.f32(row, head), view.dim, view.f32(row, head));
      }
    }
    return view;
  }

 private:
  const int64_t stride_;
  const size_t bytes_;
  void* data_;
  int64_t used_ = 0;
};

class LongStrides : public EveryIsa {
 protected:
  /// Nothing but the stride differs, so the bits are the same.
  void expect_same_bits_spread(AttentionCase& c, SparseMemory& memory) const {
    const ForwardArgs f{c.shape,
                        c.tasks,
                        memory.spread(c.q),
                        memory.spread(c.k),
                        memory.spread(c.v),
                        memory.spread(c.o),
                        memory.spread(c.lse)};
    const BackwardArgs b{c.shape,
                         c.tasks,
                         f.q,
                         f.k,
                         f.v,
                         memory.spread(c.d_o),
                         memory.spread(c.row_lse),
                         memory.spread(c.delta),
                         memory.spread(c.dq),
                         memory.spread(c.dk),
                         memory.spread(c.dv)};
    backend()->attention_forward(f);
    backend()->attention_backward(b);
    backend()->attention_forward(c.forward());
    backend()->attention_backward(c.backward());
    EXPECT_EQ(as_doubles(f.o), as_doubles(c.o.view));
    EXPECT_EQ(as_doubles(f.lse), as_doubles(c.lse.view));
    EXPECT_EQ(as_doubles(b.dq), as_doubles(c.dq.view));
    EXPECT_EQ(as_doubles(b.dk), as_doubles(c.dk.view));
    EXPECT_EQ(as_doubles(b.dv), as_doubles(c.dv.view));
  }
};

TEST_P(LongStrides, NeighbouringRowsBeyondTwoToTheThirtyOneElementsApart) {
  constexpr int64_t kStride = (int64_t{1} << 30) + 64;
  SparseMemory memory(4, kStride);
  if (!memory.ok()) GTEST_SKIP() << "no 17 GB of address space";
  Rng rng(17);
  AttentionCase c = make_case(rng, {2, 1, 8, 8, 0.35f}, 4, 4, false);
  c.tasks = {whole_task(c, Band::causal())};
  expect_same_bits_spread(c, memory);
}

TEST_P(LongStrides, LastDocumentOfAPackWhoseRowTimesStridePassesTwoToTheThirtyOne) {
  constexpr int64_t kRows = 2100, kStride = int64_t{1} << 20;  // 2100 · 2^20 > 2^31
  SparseMemory memory(kRows, kStride);
  if (!memory.ok()) GTEST_SKIP() << "no 9 GB of address space";
  Rng rng(18);
  AttentionCase c = make_case(rng, {2, 1, 16, 16, 0.25f}, kRows, kRows, false);
  AttentionTask document = whole_task(c, Band::causal());
  document.q_rows = document.kv_rows = 16;
  c.tasks = {document};
  document.q_begin = document.kv_begin = kRows - 16;
  c.tasks.push_back(document);
  expect_same_bits_spread(c, memory);
  EXPECT_TRUE(rows_close(c.o.view, reference_forward(c.forward()).o, forward_tolerance(16, 16)));
}

INSTANTIATE_TEST_SUITE_P(Cpu, LongStrides, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
