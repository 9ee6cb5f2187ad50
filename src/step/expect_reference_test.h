#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/mask.h"
#include "kernels/reference/reference_attention.h"
#include "step/run_plan_test.h"
#include "testing/expect_close.h"

/// For tests of the runtime: what it handed to the model against attention in double.
namespace cadenza {

inline RowsView view_of(RecordedRows& rows, size_t document) {
  std::vector<float>& values = rows.documents[document];
  return contiguous_rows(values.data(),
                         static_cast<int64_t>(values.size()) / (rows.heads * rows.dim), rows.heads,
                         rows.dim);
}

/// Errors are measured against the largest value, and at least against 1, the size of the inputs:
/// the gradient of a one-token document is zero but for rounding.
inline testing::AssertionResult close_at_unit_scale(std::vector<float> got,
                                                    std::vector<double> expected,
                                                    double tolerance) {
  got.push_back(1.0f);
  expected.push_back(1.0);
  return close_to(got, expected, tolerance);
}

/// Of O and of dQ, dK, dV, against the largest value. In bf16 (docs/numerics.md): a partial is
/// rounded where it is sent and the row once more at home; a gradient too, and carries O's error
/// through D.
struct Tolerance {
  double o, gradients;
};
inline Tolerance tolerance_of(Dtype dtype) {
  if (dtype == Dtype::kFloat32) return {1e-5, 1e-5};
  return {2 * 0x1p-8, 4 * 0x1p-8};
}

/// Compares what the runtime handed to the model with whole-document attention in double.
inline void expect_reference(const Batch& batch, RecordedLayer& layer, size_t document,
                             const Tolerance& tolerance = tolerance_of(Dtype::kFloat32)) {
  const int64_t length = batch.documents[document].length;
  std::vector<AttentionTask> tasks;
  for (const Piece& piece : mask_pieces(batch.documents[document].mask, length)) {
    const int64_t offset = piece.kv.begin - piece.q.begin;
    tasks.push_back({piece.q.begin, piece.q.size(), piece.kv.begin, piece.kv.size(),
                     std::max(piece.band.lowest, -2 * length) - offset,
                     std::min(piece.band.highest, 2 * length) - offset, 0, kHeads, true});
  }
  const AttentionShape shape{kHeads, kKvHeads, kHeadDim, kHeadDim,
                             1.0f / std::sqrt(static_cast<float>(kHeadDim))};
  const auto rows = static_cast<size_t>(length * kHeads);
  std::vector<float> o(rows * kHeadDim, 0.0f), lse(rows, -INFINITY), delta(rows, 0.0f);
  const RowsView o_view = contiguous_rows(o.data(), length, kHeads, kHeadDim);
  const RowsView lse_view = contiguous_rows(lse.data(), length, kHeads, 1);
  const ReferenceForward forward =
      reference_forward({shape, tasks, view_of(layer.q, document), view_of(layer.k, document),
                         view_of(layer.v, document), o_view, lse_view});
  EXPECT_TRUE(close_at_unit_scale(layer.o.documents[document], forward.o, tolerance.o))
      << "o of document " << document;

  const auto& d_o = layer.d_o.documents[document];
  for (size_t row = 0; row < rows; ++row) {
    lse[row] = static_cast<float>(forward.lse[row]);
    double sum = 0;
    for (size_t i = row * kHeadDim; i < (row + 1) * kHeadDim; ++i) sum += forward.o[i] * d_o[i];
    delta[row] = static_cast<float>(sum);
  }
  std::vector<float> dq(rows * kHeadDim), dk(static_cast<size_t>(length * kKvHeads * kHeadDim)),
      dv(dk.size());
  const ReferenceBackward backward =
      reference_backward({shape, tasks, view_of(layer.q, document), view_of(layer.k, document),
                          view_of(layer.v, document), view_of(layer.d_o, document), lse_view,
                          contiguous_rows(delta.data(), length, kHeads, 1),
                          contiguous_rows(dq.data(), length, kHeads, kHeadDim),
                          contiguous_rows(dk.data(), length, kKvHeads, kHeadDim),
                          contiguous_rows(dv.data(), length, kKvHeads, kHeadDim)});
  EXPECT_TRUE(close_at_unit_scale(layer.dq.documents[document], backward.dq, tolerance.gradients))
      << "dq of document " << document;
  EXPECT_TRUE(close_at_unit_scale(layer.dk.documents[document], backward.dk, tolerance.gradients))
      << "dk of document " << document;
  EXPECT_TRUE(close_at_unit_scale(layer.dv.documents[document], backward.dv, tolerance.gradients))
      << "dv of document " << document;
}

}  // namespace cadenza
