#include <initializer_list>
#include <string>

#include "base/check.h"
#include "kernels/backend.h"
#include "kernels/cpu/attention_calls.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/local_rows.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/row_ops.h"
#include "kernels/cpu/sink.h"

namespace cadenza::cpu {
namespace {

/// Refused before memory is touched.
void check_on_host(std::initializer_list<RowsView> views) {
  for (const RowsView& view : views) {
    CADENZA_CHECK(view.device == Device::kCpu, "CPU attention was handed another device's memory");
  }
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(int threads, const Isa& isa)
      : name_(cat("cpu/", isa.name)),
        threads_(threads),
        isa_(isa),
        parallel_(openmp_parallel(threads)) {}
  const char* name() const override { return name_.c_str(); }

  void attention_forward(const ForwardArgs& args) override {
    check_args(args);
    check_on_host({args.q, args.k, args.v, args.o, args.lse});
    cpu::forward(args, kernels_for(args.q), threads_, parallel_);
  }
  void attention_backward(const BackwardArgs& args) override {
    check_args(args);
    check_on_host(
        {args.q, args.k, args.v, args.d_o, args.lse, args.delta, args.dq, args.dk, args.dv});
    cpu::backward(args, kernels_for(args.q), threads_, parallel_);
  }

  void pack_rows(const RowsView& source, std::span<const RowRun> runs, std::byte* packed) override {
    cpu::pack_rows(source, runs, packed, parallel_);
  }
  void unpack_rows(const std::byte* packed, std::span<const RowRun> runs,
                   const RowsView& target) override {
    cpu::unpack_rows(packed, runs, target, parallel_);
  }
  void add_rows(const std::byte* packed, Dtype packed_dtype, std::span<const RowRun> runs,
                const RowsView& target) override {
    cpu::add_rows(packed, packed_dtype, runs, target, parallel_);
  }
  void merge_rows(const std::byte* packed_o, Dtype packed_dtype, const std::byte* packed_lse,
                  std::span<const RowRun> runs, const RowsView& o, const RowsView& lse) override {
    cpu::merge_rows(packed_o, packed_dtype, packed_lse, runs, o, lse, parallel_);
  }
  void copy_rows(const RowsView& from, std::span<const RowRun> from_runs, const RowsView& to,
                 std::span<const RowRun> to_runs) override {
    cpu::copy_rows(from, from_runs, to, to_runs, parallel_);
  }
  void add_rows(const RowsView& from, std::span<const RowRun> from_runs,
                std::span<const RowRun> to_runs, const RowsView& to) override {
    cpu::add_rows(from, from_runs, to_runs, to, parallel_);
  }
  void merge_rows(const RowsView& from_o, const RowsView& from_lse,
                  std::span<const RowRun> from_runs, std::span<const RowRun> to_runs,
                  const RowsView& o, const RowsView& lse) override {
    cpu::merge_rows(from_o, from_lse, from_runs, to_runs, o, lse, parallel_);
  }
  void row_dot(const RowsView& d_o, const RowsView& o, const RowsView& delta) override {
    cpu::row_dot(d_o, o, delta, parallel_);
  }
  void apply_sinks(const RowsView& sinks, const RowsView& o, const RowsView& lse) override {
    cpu::apply_sinks(sinks, o, lse, parallel_);
  }
  void add_sink_gradients(const RowsView& sinks, const RowsView& lse, const RowsView& delta,
                          const RowsView& d_sinks) override {
    cpu::add_sink_gradients(sinks, lse, delta, d_sinks, parallel_);
  }
  void fill(const RowsView& view, float value) override { cpu::fill(view, value, parallel_); }
  void convert_rows(const RowsView& from, const RowsView& to) override {
    cpu::convert_rows(from, to, parallel_);
  }

 private:
  const BlockKernels& kernels_for(const RowsView& q) const {
    return q.dtype == Dtype::kBFloat16 ? *isa_.bf16 : *isa_.fp32;
  }

  std::string name_;
  int threads_;
  const Isa& isa_;
  ParallelFor parallel_;
};

std::unique_ptr<Backend> make(int threads, const Isa& isa) {
  CADENZA_CHECK(threads >= 1, "got ", threads);
  return std::make_unique<CpuBackend>(threads, isa);
}

}  // namespace

std::unique_ptr<Backend> make_backend(int threads, const std::string& isa) {
  return make(threads, isa_named(isa));
}

}  // namespace cadenza::cpu

namespace cadenza {

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return cpu::make(threads, cpu::chosen_isa());
}

}  // namespace cadenza
