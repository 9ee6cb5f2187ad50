#include "profile/measure_profile.h"

#include <algorithm>
#include <chrono>
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

/// The part of the budget for `repeats` visits to each point of the grid; the rest is for the
/// error, and for more visits to what is quickly measured, up to kMostVisits.
constexpr double kGridShare = 0.5;
constexpr int kMostVisits = 25;

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

/// What others do on the machine only adds time.
double fastest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

double total(const AttentionMeter::Seconds& seconds) { return seconds.forward + seconds.backward; }

/// Seconds a pair, in a rectangle large enough to run at the kernel's rate.
double seconds_per_pair(Backend& backend, const ModelShape& shape) {
  AttentionMeter meter(backend, shape, 256, 1024);
  meter.measure(rectangle(256, 1024));  // scratch memory, caches
  std::vector<double> seconds;
  for (int i = 0; i < 5; ++i) seconds.push_back(total(meter.measure(rectangle(256, 1024))));
  return fastest(seconds) / (256 * 1024);
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

/// What is timed: a rectangle of the grid, or pieces that are not of it, in one fused call.
struct Timed {
  std::vector<Piece> pieces;
  std::vector<double> forward, backward, both;  // of each visit
  double spent = 0;                             // seconds of all visits
};

class Measurement {
 public:
  Measurement(Backend& backend, const ProfileOptions& options)
      : options_(options),
        size_(grid_size(kGridShare * options.budget_seconds / options.repeats /
                        seconds_per_pair(backend, options.shape))),
        meter_(backend, options.shape, kBatchPieces * size_.q_rows.back(), size_.kv_rows.back()) {
    for (const int64_t q : size_.q_rows) {
      for (const int64_t kv : size_.kv_rows) grid_.push_back({.pieces = {rectangle(q, kv)}});
    }
    Rng rng(7);
    for (int i = 0; i < kSingles + kBatches; ++i) {
      Timed& other = others_.emplace_back();
      for (int n = i < kSingles ? 1 : kBatchPieces; n > 0; --n)
        other.pieces.push_back(draw_piece(rng));
    }
  }

  Profile run(const std::string& kernel) {
    for (int visit = 0; visit < kMostVisits; ++visit) {
      size_t next = 0;  // of the others: evenly among the points, so that both see one machine
      for (size_t point = 0; point < grid_.size(); ++point) {
        time(grid_[point], visit);
        for (; next * grid_.size() < (point + 1) * others_.size(); ++next)
          time(others_[next], visit);
      }
    }
    Profile profile{.kernel = kernel,
                    .shape = options_.shape,
                    .forward = {size_.q_rows, size_.kv_rows, table(&Timed::forward)},
                    .backward = {size_.q_rows, size_.kv_rows, table(&Timed::backward)}};
    profile.error = own_error(profile);
    return profile;
  }

 private:
  /// Skips visits above the number asked for where they have had their share of the budget.
  void time(Timed& timed, int visit) {
    throw_if_interrupted();
    const auto cases = static_cast<int64_t>(grid_.size() + others_.size());
    options_.progress(++done_, kMostVisits * cases);
    if (visit >= options_.repeats &&
        timed.spent >= options_.budget_seconds / static_cast<double>(cases))
      return;
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = timed.pieces.size() == 1 ? meter_.measure(timed.pieces.front())
                                                  : meter_.measure_batch(timed.pieces);
    timed.spent += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    timed.forward.push_back(seconds.forward);
    timed.backward.push_back(seconds.backward);
    timed.both.push_back(total(seconds));
  }

  std::vector<std::vector<double>> table(std::vector<double> Timed::*samples) const {
    std::vector<std::vector<double>> table(size_.q_rows.size());
    for (size_t i = 0; i < grid_.size(); ++i)
      table[i / size_.kv_rows.size()].push_back(fastest(grid_[i].*samples));
    return table;
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

  ProfileError own_error(const Profile& profile) const {
    const ProfileCostModel model(profile);
    std::vector<double> errors;
    for (const Timed& other : others_) {
      double predicted = 0;
      for (const Piece& piece : other.pieces) predicted += model.task_cost(piece);
      errors.push_back(std::abs(predicted / fastest(other.both) - 1));
    }
    return {.points = static_cast<int64_t>(errors.size()),
            .median = median(errors),
            .worst = *std::max_element(errors.begin(), errors.end())};
  }

  const ProfileOptions& options_;
  const GridSize size_;
  AttentionMeter meter_;
  std::vector<Timed> grid_, others_;
  int64_t done_ = 0;
};

}  // namespace

Profile measure_profile(Backend& backend, const std::string& kernel,
                        const ProfileOptions& options) {
  return Measurement(backend, options).run(kernel);
}

}  // namespace cadenza
