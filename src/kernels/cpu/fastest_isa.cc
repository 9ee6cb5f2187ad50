#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/lane_keys.h"
#include "kernels/cpu/workspace.h"

namespace cadenza::cpu {
namespace {

constexpr int64_t kDim = 128, kLanes = 96, kKeys = 256;
constexpr int kRounds = 5;

/// One tile of bf16 rows on one block of keys: what all the time of a long document goes into.
class Probe {
 public:
  Probe() : rows_(kKeys * kDim), q_(kLanes), o_(kLanes), lse_(kLanes), seen_(512) {
    for (size_t i = 0; i < rows_.size(); ++i) {
      rows_[i] = static_cast<uint16_t>(0x3e80 + i * 37 % 128);  // numbers from 1/4 to 1/2
    }
    out_.resize(rows_.size());
    for (size_t lane = 0; lane < q_.size(); ++lane) {
      q_[lane] = rows_.data() + lane * kDim;
      o_[lane] = out_.data() + lane * kDim;
    }
    std::fill(seen_.end.begin(), seen_.end.end(), kKeys);
  }

  /// The shortest of a few rounds, in seconds a lane.
  double seconds(const BlockKernels& kernels) {
    const HeadDims dims{kDim, kDim};
    Scratch scratch(kernels.forward_bytes(dims));
    const ForwardTile tile{dims, kLanes, 0.1f, scratch.data()};
    const KeySpan keys{.k = rows_.data(),
                       .v = rows_.data(),
                       .k_stride = 2 * kDim,
                       .v_stride = 2 * kDim,
                       .bf16 = true,
                       .begin = 0,
                       .end = kKeys,
                       .full_begin = 0,
                       .full_end = kKeys};
    double best = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kRounds; ++round) {
      const auto start = std::chrono::steady_clock::now();
      kernels.forward_begin(tile, {q_.data(), kLanes, kDim, true});
      for (int i = 0; i < 4; ++i) kernels.forward_keys(tile, keys, seen_.lanes());
      kernels.forward_end(tile, o_.data(), true, lse_.data());
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      best = std::min(best, taken.count());
    }
    return best;
  }

 private:
  std::vector<uint16_t> rows_, out_;
  std::vector<const void*> q_;
  std::vector<void*> o_;
  std::vector<float> lse_;
  LaneKeys seen_;
};

const Isa& measure_fastest() {
  const std::vector<Isa>& isas = all_supported();
  const Isa* best = &isas.back();
  const auto same_fp32 = [&](const Isa& isa) { return isa.fp32 == isas.back().fp32; };
  if (std::count_if(isas.begin(), isas.end(), same_fp32) == 1) return *best;
  Probe probe;
  double shortest = std::numeric_limits<double>::infinity();
  for (const Isa& isa : isas) {
    if (!same_fp32(isa)) continue;
    // A twentieth is noise: between equals the narrower stays, so that all ranks choose alike.
    const double seconds = probe.seconds(*isa.bf16);
    if (seconds < 0.95 * shortest) shortest = seconds, best = &isa;
  }
  return *best;
}

}  // namespace

const Isa& fastest_isa() {
  static const Isa& isa = measure_fastest();
  return isa;
}

}  // namespace cadenza::cpu
