#include <functional>

#include "kernels/attention_case_test.h"

namespace cadenza {
namespace {

constexpr uint64_t kSeed = 20251107;
constexpr int64_t kRows = 75, kKeys = 600, kDim = 8;

/// Scores of about unit size plus lane(row) · level(key), made by the first of the head's elements.
struct Levels {
  const char* name;
  float highest;  // largest |lane · level|
  std::function<float(int64_t row)> lane;
  std::function<float(int64_t key)> level;
};

float every_lane(int64_t) { return 1; }
/// Rises in some lanes, falls in others, in most nothing happens.
float some_lanes(int64_t row) { return row % 3 == 1 ? 1.0f : row % 7 == 2 ? -1.0f : 0.0f; }

std::vector<Levels> all_levels() {
  const auto last = [](int64_t key) { return key == kKeys - 1 ? 300.0f : 0.0f; };
  const auto first = [](int64_t key) { return key == 0 ? 300.0f : 0.0f; };
  const auto tail = [](int64_t key) {
    return key < kKeys - 9 ? 0.0f : 90.0f * static_cast<float>(key % 9);
  };
  const auto stairs = [](int64_t key) { return 40.0f * static_cast<float>(key / 61); };
  const auto down = [](int64_t key) { return -40.0f * static_cast<float>(key / 61); };
  const auto spikes = [](int64_t key) { return key % 97 == 96 ? static_cast<float>(key) : 0.0f; };
  return {
      {"last key, every lane", 300, every_lane, last},
      {"last key, some lanes", 300, some_lanes, last},
      {"first key, some lanes", 300, some_lanes, first},
      {"the last nine keys, some lanes", 720, some_lanes, tail},
      {"stairs, every lane", 400, every_lane, stairs},
      {"stairs, some lanes", 400, some_lanes, stairs},
      {"stairs down, every lane", 400, every_lane, down},
      {"spikes ever higher, some lanes", 600, some_lanes, spikes},
      {"about 1e4", 1e4f, every_lane, [](int64_t) { return 1e4f; }},
      {"about -1e4", 1e4f, every_lane, [](int64_t) { return -1e4f; }},
      {"about ±1e4, some lanes", 1e4f, some_lanes, [](int64_t) { return 1e4f; }},
      {"from -1e4 to 1e4", 1e4f, every_lane,
       [](int64_t key) { return key < kKeys / 2 ? -1e4f : 1e4f; }},
  };
}

/// A score rounds relative to its size, and an error of a score is a relative error of its
/// probability: a few roundings, each of half a unit in the last place.
double score_error(const Levels& levels) { return 4 * 0x1p-24 * levels.highest; }

AttentionCase case_of(const Levels& levels, Rng& rng) {
  AttentionCase c = make_case(rng, {2, 1, kDim, kDim, 1.0f}, kRows, kKeys, false);
  for (TestRows* rows : {&c.q, &c.k}) {
    rows->set([&](int64_t, int64_t, int64_t) { return uniform(rng, -0.7f, 0.7f); });
  }
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t head = 0; head < 2; ++head) c.q.view.f32(row, head)[0] = levels.lane(row);
  }
  for (int64_t key = 0; key < kKeys; ++key) c.k.view.f32(key, 0)[0] = levels.level(key);
  for (TestRows* rows : {&c.dq, &c.dk, &c.dv}) set_all(*rows, 0);
  return c;
}

/// All but the first element of each head. That one's gradient is multiplied by the level, which
/// makes rounding of any size of it.
RowsView without_level(RowsView view) {
  view.data = view.f32(0, 0) + 1;
  view.dim -= 1;
  return view;
}
std::vector<double> without_level(const std::vector<double>& packed) {
  std::vector<double> out;
  for (size_t i = 0; i < packed.size(); ++i) {
    if (i % kDim != 0) out.push_back(packed[i]);
  }
  return out;
}

class ScoreRange : public EveryIsa {
 protected:
  void expect_reference(const Levels& levels, AttentionCase& c) const {
    const ReferenceForward forward = reference_forward(c.forward());
    forward_and_backward(c, *backend());
    const double error = forward_tolerance(kKeys, kDim) + score_error(levels);
    EXPECT_TRUE(rows_close(c.o.view, forward.o, error)) << "o";
    EXPECT_TRUE(rows_close(c.lse.view, forward.lse, forward_tolerance(kKeys, kDim))) << "lse";

    // From the LSE in double, rounded once.
    c.row_lse.set([&](int64_t row, int64_t head, int64_t) {
      return static_cast<float>(forward.lse[static_cast<size_t>(row * 2 + head)]);
    });
    for (TestRows* rows : {&c.dq, &c.dk, &c.dv}) set_all(*rows, 0);
    const ReferenceBackward backward = reference_backward(c.backward());
    this->backend()->attention_backward(c.backward());
    const double bound = backward_tolerance(kKeys, kDim) + 4 * score_error(levels);
    EXPECT_TRUE(rows_close(without_level(c.dq.view), without_level(backward.dq), bound)) << "dq";
    EXPECT_TRUE(rows_close(without_level(c.dk.view), without_level(backward.dk), bound)) << "dk";
    EXPECT_TRUE(rows_close(c.dv.view, backward.dv, bound)) << "dv";
  }
};

TEST_P(ScoreRange, FarAboveTheRunningMaximumOrFarFromZeroStaysExact) {
  for (const Levels& levels : all_levels()) {
    for (const Band band : {Band::full(), causal_bottom_right(kRows, kKeys)}) {
      SCOPED_TRACE(cat(levels.name, ", band ", band.highest, ", seed ", kSeed));
      Rng rng(kSeed);
      AttentionCase c = case_of(levels, rng);
      c.tasks = {whole_task(c, band)};
      expect_reference(levels, c);
    }
  }
}

TEST_P(ScoreRange, MergesPartsWhoseMaximaLieFarApart) {
  for (const Levels& levels : all_levels()) {
    SCOPED_TRACE(cat(levels.name, ", seed ", kSeed));
    Rng rng(kSeed);
    AttentionCase c = case_of(levels, rng);
    for (const int64_t begin : {400, 0, 200}) {
      AttentionTask part = whole_task(c, Band::full());
      part.kv_begin = begin, part.kv_rows = 200, part.merge = begin != 400;
      c.tasks.push_back(part);
    }
    expect_reference(levels, c);
  }
}

TEST_P(ScoreRange, EqualScoresWeighAllKeysAlike) {
  for (const float score : {0.0f, 3.7f, -90.0f, 1e4f}) {
    SCOPED_TRACE(cat("score ", score));
    Rng rng(kSeed + 1);
    AttentionCase c = make_case(rng, {2, 1, kDim, kDim, 1.0f}, kRows, kKeys, false);
    for (TestRows* rows : {&c.q, &c.k}) set_all(*rows, 0);
    for (int64_t row = 0; row < kRows; ++row) {
      c.q.view.f32(row, 0)[3] = c.q.view.f32(row, 1)[3] = score;
    }
    c.k.set([](int64_t, int64_t, int64_t d) { return d == 3 ? 1.0f : 0.0f; });
    c.tasks = {whole_task(c, causal_bottom_right(kRows, kKeys))};
    backend()->attention_forward(c.forward());
    std::vector<double> o, lse;
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t keys = row + kKeys - kRows + 1;
      for (int64_t head = 0; head < 2; ++head) {
        lse.push_back(score + std::log(static_cast<double>(keys)));
        for (int64_t d = 0; d < kDim; ++d) {
          double sum = 0;
          for (int64_t key = 0; key < keys; ++key) sum += c.v.view.f32(key, 0)[d];
          o.push_back(sum / static_cast<double>(keys));
        }
      }
    }
    // Equal scores round alike, whatever their size.
    EXPECT_TRUE(rows_close(c.o.view, o, forward_tolerance(kKeys, kDim)));
    EXPECT_TRUE(rows_close(c.lse.view, lse, forward_tolerance(kKeys, kDim)));
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, ScoreRange, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
