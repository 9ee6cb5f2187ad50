#include "bench/variant_run.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "bench/bench_backend.h"
#include "bench/median.h"

namespace cadenza::bench {
namespace {

/// Far above what rounding makes of the same work (docs/numerics.md), far below what other work
/// gives: PyTorch keeps P and dP in bf16.
double largest_distance(Dtype dtype) { return dtype == Dtype::kFloat32 ? 1e-4 : 5e-2; }

std::vector<double> sums(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) out.push_back(a[i] + b[i]);
  return out;
}

}  // namespace

VariantRun::VariantRun(const Variant& variant, Dtype dtype, Phases phases, std::string isa,
                       const PeakMeter& peak_meter)
    : variant_(variant),
      dtype_(dtype),
      phases_(phases),
      isa_(std::move(isa)),
      peak_meter_(peak_meter),
      backend_(backend_of(variant.threads, isa_)),
      ours_(variant.work, dtype, *backend_) {}

void VariantRun::make_torch() {
  torch_ = std::make_unique<TorchAttention>(
      AttentionInputs{ours_.q(), ours_.k(), ours_.v(), ours_.d_o()}, variant_.work.shape,
      *variant_.torch, variant_.threads);
  torch_scale_ =
      static_cast<double>(variant_.work.shape.heads) / static_cast<double>(variant_.torch->heads);
}

void VariantRun::measure(Samples& samples, double (OurAttention::*our_call)(),
                         double (TorchAttention::*torch_call)()) {
  throw_if_interrupted();
  const double ours = (ours_.*our_call)();
  std::optional<double> torch;
  if (variant_.torch) {
    throw_if_interrupted();
    // Made late, so that what our kernels refuse costs nothing here.
    if (!torch_) make_torch();
    torch = (torch_.get()->*torch_call)() * torch_scale_;
  }
  samples.peak.push_back(peak_meter_.sample());
  samples.ours.push_back(ours);
  if (torch) samples.torch.push_back(*torch);
}

void VariantRun::round() {
  measure(forward_, &OurAttention::forward, &TorchAttention::forward);
  if (!phases_.forward_backward) return;
  measure(backward_, &OurAttention::backward, &TorchAttention::backward);
}

void VariantRun::forget_rounds() {
  forward_ = {.distance = forward_.distance};
  backward_ = {.distance = backward_.distance};
  matmul_.clear();
}

void VariantRun::check_against_torch() {
  if (!torch_) return;
  const auto checked = [&](const char* what, double distance) {
    if (distance <= largest_distance(dtype_)) return distance;  // NaN fails too
    throw InternalError(cat("[bench] expected ", what, " of ", variant_.name, " in ",
                            dtype_name(dtype_), " to agree with PyTorch's to ",
                            largest_distance(dtype_), " (relative, 2-norm), got ", distance,
                            "; the times would not be those of the same work"));
  };
  forward_.distance = checked("O", torch_->o_distance(ours_.o()));
  if (phases_.forward_backward) {
    backward_.distance = checked("dQ", torch_->dq_distance(ours_.dq()));
  }
}

Result VariantRun::result(const char* phase, double flops, const std::vector<double>& ours,
                          const std::vector<double>& torch, const std::vector<double>& peak,
                          double distance) const {
  Result out{.name = variant_.name,
             .dtype = dtype_name(dtype_),
             .phase = phase,
             .isa = isa_,
             .threads = variant_.threads,
             .rounds = static_cast<int64_t>(ours.size()),
             .note = variant_.note};
  if (variant_.torch) out.pytorch_form = variant_.torch->description;
  if (ours.empty()) return out;
  const double seconds = median(ours);
  out.gflops = flops / seconds * 1e-9;
  out.ns_per_token = seconds / static_cast<double>(variant_.tokens) * 1e9;
  out.peak_gflops = median(peak);
  out.peak_loop = peak_meter_.loop_name();
  if (!matmul_.empty()) out.matmul_gflops = median(matmul_);
  if (torch.empty()) return out;
  out.pytorch_gflops = flops / median(torch) * 1e-9;
  out.pytorch_ratio = median(torch) / seconds;
  std::vector<double> ratios;
  for (size_t i = 0; i < ours.size(); ++i) ratios.push_back(torch[i] / ours[i]);
  out.ratio_low = *std::min_element(ratios.begin(), ratios.end());
  out.ratio_high = *std::max_element(ratios.begin(), ratios.end());
  out.pytorch_distance = distance;
  return out;
}

std::vector<Result> VariantRun::results() const {
  std::vector<Result> out;
  const double forward = forward_flops(variant_.work);
  if (phases_.forward) {
    out.push_back(result("forward", forward, forward_.ours, forward_.torch, forward_.peak,
                         forward_.distance));
  }
  if (phases_.forward_backward) {
    std::vector<double> peak = forward_.peak;
    peak.insert(peak.end(), backward_.peak.begin(), backward_.peak.end());
    out.push_back(result("forward_backward", forward + backward_flops(variant_.work),
                         sums(forward_.ours, backward_.ours), sums(forward_.torch, backward_.torch),
                         peak, backward_.distance));
  }
  return out;
}

}  // namespace cadenza::bench
