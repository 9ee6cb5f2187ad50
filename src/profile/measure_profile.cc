#include "profile/measure_profile.h"

#include <algorithm>
#include <cmath>

#include "base/interrupt.h"
#include "base/rng.h"
#include "core/cost/profile_cost_model.h"
#include "profile/attention_meter.h"

namespace cadenza {
namespace {

/// Powers of two; a kernel's time bends at its tile (128) and nowhere else on a large scale.
constexpr int64_t kFirstQ = 16, kLastQ = 8192, kFirstKv = 64, kLastKv = 131072;

/// Points that are not of the grid: single pieces and fused batches.
constexpr int kSingles = 12, kBatches = 6, kBatchPieces = 12;

/// The part of the budget for the grid; the rest is for the error.
constexpr double kGridShare = 0.75;

std::vector<int64_t> powers(int64_t first, int64_t last) {
  std::vector<int64_t> lengths;
  for (int64_t length = first; length <= last; length *= 2) lengths.push_back(length);
  return lengths;
}

Piece rectangle(int64_t q, int64_t kv) { return {{0, q}, {0, kv}, Band::full()}; }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

double total(const AttentionMeter::Seconds& seconds) { return seconds.forward + seconds.backward; }

/// Seconds a pair, in a rectangle large enough to run at the kernel's rate.
double seconds_per_pair(Backend& backend, const ModelShape& shape) {
  AttentionMeter meter(backend, shape, 256, 1024);
  meter.measure(rectangle(256, 1024));  // scratch memory, caches
  return total(meter.measure(rectangle(256, 1024))) / (256 * 1024);
}

struct GridSize {
  std::vector<int64_t> q_rows, kv_rows;
};

/// The largest grid whose pairs fit the budget: sides are halved in turn, the keys' first down to
/// four times the queries'.
GridSize grid_size(double pairs_allowed) {
  GridSize size{powers(kFirstQ, kLastQ), powers(kFirstKv, kLastKv)};
  const auto pairs = [&] {
    double sum = 0;
    for (const int64_t q : size.q_rows) {
      for (const int64_t kv : size.kv_rows)
        sum += std::max(static_cast<double>(q * kv), static_cast<double>(kTimedPairs));
    }
    return sum;
  };
  while (pairs() > pairs_allowed && size.q_rows.size() + size.kv_rows.size() > 6) {
    const bool keys = size.q_rows.size() <= 3 ||
                      (size.kv_rows.size() > 3 && size.kv_rows.back() > 4 * size.q_rows.back());
    (keys ? size.kv_rows : size.q_rows).pop_back();
  }
  return size;
}

class Measurement {
 public:
  Measurement(Backend& backend, const ProfileOptions& options)
      : options_(options),
        size_(grid_size(kGridShare * options.budget_seconds / options.repeats /
                        seconds_per_pair(backend, options.shape))),
        meter_(backend, options.shape, kBatchPieces * size_.q_rows.back(), size_.kv_rows.back()) {}

  Profile run(const std::string& kernel) {
    const auto points = static_cast<int64_t>(size_.q_rows.size() * size_.kv_rows.size());
    steps_ = options_.repeats * (points + kSingles + kBatches);
    std::vector<std::vector<std::vector<double>>> forward(size_.q_rows.size()), backward;
    for (auto& row : forward) row.resize(size_.kv_rows.size());
    backward = forward;
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      for (size_t i = 0; i < size_.q_rows.size(); ++i) {
        for (size_t j = 0; j < size_.kv_rows.size(); ++j) {
          const auto seconds = timed({rectangle(size_.q_rows[i], size_.kv_rows[j])});
          forward[i][j].push_back(seconds.forward);
          backward[i][j].push_back(seconds.backward);
        }
      }
    }
    Profile profile{.kernel = kernel,
                    .shape = options_.shape,
                    .forward = {size_.q_rows, size_.kv_rows, medians(forward)},
                    .backward = {size_.q_rows, size_.kv_rows, medians(backward)}};
    profile.error = own_error(profile);
    return profile;
  }

 private:
  static std::vector<std::vector<double>> medians(
      const std::vector<std::vector<std::vector<double>>>& samples) {
    std::vector<std::vector<double>> table;
    for (const auto& row : samples) {
      std::vector<double>& of_row = table.emplace_back();
      for (const auto& values : row) of_row.push_back(median(values));
    }
    return table;
  }

  AttentionMeter::Seconds timed(const std::vector<Piece>& pieces) {
    throw_if_interrupted();
    const auto seconds =
        pieces.size() == 1 ? meter_.measure(pieces.front()) : meter_.measure_batch(pieces);
    options_.progress(++done_, steps_);
    return seconds;
  }

  /// Any length of the domain, as likely short as long.
  static int64_t draw(Rng& rng, const std::vector<int64_t>& lengths) {
    const double low = std::log(static_cast<double>(lengths.front()));
    const double high = std::log(static_cast<double>(lengths.back()));
    const double part = static_cast<double>(rng() >> 11) * 0x1p-53;
    return std::llround(std::exp(low + part * (high - low)));
  }

  /// Half of them causal, their diagonal at the last key.
  Piece draw_piece(Rng& rng) const {
    const int64_t q = draw(rng, size_.q_rows), kv = draw(rng, size_.kv_rows);
    Piece piece = rectangle(q, kv);
    if (rng() % 2 == 0) piece.band.highest = std::max<int64_t>(0, kv - q);
    return piece;
  }

  ProfileError own_error(const Profile& profile) {
    const ProfileCostModel model(profile);
    Rng rng(7);
    std::vector<std::vector<Piece>> cases;
    for (int i = 0; i < kSingles + kBatches; ++i) {
      std::vector<Piece>& pieces = cases.emplace_back();
      for (int n = i < kSingles ? 1 : kBatchPieces; n > 0; --n) pieces.push_back(draw_piece(rng));
    }
    std::vector<std::vector<double>> measured(cases.size());
    for (int repeat = 0; repeat < options_.repeats; ++repeat) {
      for (size_t i = 0; i < cases.size(); ++i) measured[i].push_back(total(timed(cases[i])));
    }
    std::vector<double> errors;
    for (size_t i = 0; i < cases.size(); ++i) {
      double predicted = 0;
      for (const Piece& piece : cases[i]) predicted += model.task_cost(piece);
      errors.push_back(std::abs(predicted / median(measured[i]) - 1));
    }
    return {.points = static_cast<int64_t>(errors.size()),
            .median = median(errors),
            .worst = *std::max_element(errors.begin(), errors.end())};
  }

  const ProfileOptions& options_;
  const GridSize size_;
  AttentionMeter meter_;
  int64_t done_ = 0, steps_ = 0;
};

}  // namespace

Profile measure_profile(Backend& backend, const std::string& kernel,
                        const ProfileOptions& options) {
  return Measurement(backend, options).run(kernel);
}

}  // namespace cadenza
