#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/our_attention.h"
#include "bench/peak_meter.h"
#include "bench/result.h"
#include "bench/torch_attention.h"

namespace cadenza::bench {

/// What is measured of each case.
struct Phases {
  bool forward = true;
  bool forward_backward = true;
};

/// One variant with its memory, and what was measured of it, round by round.
class VariantRun {
 public:
  /// `variant` and `peak_meter` are kept by reference.
  VariantRun(const Variant& variant, Dtype dtype, Phases phases, std::string isa,
             const PeakMeter& peak_meter);

  /// One round: ours, PyTorch's, the peak loop; then the same for the backward. Calls alternate, so
  /// that a slow spell of the machine meets all sides. Throws what the kernels throw, and
  /// Interrupted between calls.
  void round();
  /// What was measured until now was warm-up.
  void forget_rounds();
  /// A sample of libtorch's matrix product for the round.
  void add_matmul(double gflops) { matmul_.push_back(gflops); }

  /// InternalError where our results and PyTorch's are not those of the same work.
  void check_against_torch();

  std::vector<Result> results() const;

 private:
  struct Samples {
    std::vector<double> ours, torch, peak;  // seconds, seconds, GFLOP/s
    double distance = 0;
  };
  void make_torch();
  void measure(Samples& samples, double (OurAttention::*our_call)(),
               double (TorchAttention::*torch_call)());
  Result result(const char* phase, double flops, const std::vector<double>& ours,
                const std::vector<double>& torch, const std::vector<double>& peak,
                double distance) const;

  const Variant& variant_;
  Dtype dtype_;
  Phases phases_;
  std::string isa_;
  const PeakMeter& peak_meter_;
  std::unique_ptr<Backend> backend_;
  OurAttention ours_;
  std::unique_ptr<TorchAttention> torch_;
  double torch_scale_ = 1;  // all heads / computed heads
  Samples forward_, backward_;
  std::vector<double> matmul_;
};

}  // namespace cadenza::bench
