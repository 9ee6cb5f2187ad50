#include "base/check.h"
#include "kernels/backend.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"
#include "kernels/reference/reference_attention.h"

namespace cadenza {
namespace {

void store(const std::vector<double>& from, const RowsView& to) {
  size_t next = 0;
  for (int64_t row = 0; row < to.rows; ++row) {
    for (int64_t head = 0; head < to.heads; ++head) {
      for (int64_t d = 0; d < to.dim; ++d) to.f32(row, head)[d] = static_cast<float>(from[next++]);
    }
  }
}

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(int threads) : parallel_(openmp_parallel(threads)) {}
  const char* name() const override { return "cpu"; }

  void attention_forward(const ForwardArgs& args) override {
    const ReferenceForward out = reference_forward(args);
    store(out.o, args.o);
    store(out.lse, args.lse);
  }
  void attention_backward(const BackwardArgs& args) override {
    const ReferenceBackward out = reference_backward(args);
    store(out.dq, args.dq);
    store(out.dk, args.dk);
    store(out.dv, args.dv);
  }

  void pack_rows(const RowsView& source, std::span<const RowRun> runs,
                 std::byte* packed) override {
    cpu::pack_rows(source, runs, packed, parallel_);
  }
  void unpack_rows(const std::byte* packed, std::span<const RowRun> runs,
                   const RowsView& target) override {
    cpu::unpack_rows(packed, runs, target, parallel_);
  }
  void add_rows(const std::byte* packed, std::span<const RowRun> runs,
                const RowsView& target) override {
    cpu::add_rows(packed, runs, target, parallel_);
  }
  void merge_rows(const std::byte* packed_o, const std::byte* packed_lse,
                  std::span<const RowRun> runs, const RowsView& o, const RowsView& lse) override {
    cpu::merge_rows(packed_o, packed_lse, runs, o, lse, parallel_);
  }
  void row_dot(const RowsView& d_o, const RowsView& o, const RowsView& delta) override {
    cpu::row_dot(d_o, o, delta, parallel_);
  }
  void fill(const RowsView& view, float value) override { cpu::fill(view, value, parallel_); }

 private:
  ParallelFor parallel_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  CADENZA_CHECK(threads >= 1, "got ", threads);
  return std::make_unique<CpuBackend>(threads);
}

}  // namespace cadenza
