#pragma once

#include <algorithm>
#include <vector>

#include "core/batch.h"
#include "kernels/attention_case_test.h"
#include "kernels/reference/attention_by_definition.h"
#include "testing/mask_definition.h"

/// For tests: documents with masks side by side in one call, as tasks, and what they must give by
/// the definitions of mask and attention.
namespace cadenza {

struct PackedDocuments {
  std::vector<Document> documents;
  std::vector<int64_t> begins;  // first row of each document, and the number of rows
  AttentionCase c;

  Range rows(size_t document) const { return {begins[document], begins[document + 1]}; }
};

/// Random inputs, O and LSE full of NaN, gradients zero; no tasks yet.
inline PackedDocuments pack_documents(Rng& rng, const AttentionShape& shape,
                                      std::vector<Document> documents, bool gaps) {
  PackedDocuments pack{.documents = std::move(documents), .begins = {0}, .c = {}};
  for (const Document& document : pack.documents) {
    pack.begins.push_back(pack.begins.back() + document.length);
  }
  pack.c = make_case(rng, shape, pack.begins.back(), pack.begins.back(), gaps);
  for (TestRows* rows : {&pack.c.o, &pack.c.lse}) set_all(*rows, std::nanf(""));
  for (TestRows* rows : {&pack.c.dq, &pack.c.dk, &pack.c.dv}) set_all(*rows, 0);
  return pack;
}

/// A piece of the document whose first row is `begin`, for all heads, merging.
inline AttentionTask piece_task(const Piece& piece, int64_t begin, int64_t heads) {
  const int64_t offset = piece.kv.begin - piece.q.begin;
  return {.q_begin = begin + piece.q.begin,
          .q_rows = piece.q.size(),
          .kv_begin = begin + piece.kv.begin,
          .kv_rows = piece.kv.size(),
          .lowest = piece.band.lowest - offset,
          .highest = piece.band.highest - offset,
          .head_begin = 0,
          .head_end = heads,
          .merge = true};
}

/// Writes O = 0 and LSE = -inf over whatever the rows hold: what partials are merged into.
inline AttentionTask empty_task(Range rows, int64_t heads) {
  return {.q_begin = rows.begin, .q_rows = rows.size(), .head_begin = 0, .head_end = heads};
}

/// Every document as the pieces of its mask, one task each.
inline void tasks_of_pieces(PackedDocuments& pack) {
  const int64_t heads = pack.c.shape.heads;
  for (size_t i = 0; i < pack.documents.size(); ++i) {
    const Document& document = pack.documents[i];
    const std::vector<Piece> pieces = mask_pieces(document.mask, document.length);
    // The first writes its rows; where it is not all rows, something else must.
    const bool writes = !pieces.empty() && pieces[0].q.size() == document.length;
    if (!writes) pack.c.tasks.push_back(empty_task(pack.rows(i), heads));
    for (size_t p = 0; p < pieces.size(); ++p) {
      pack.c.tasks.push_back(piece_task(pieces[p], pack.begins[i], heads));
      pack.c.tasks.back().merge = p > 0 || !writes;
    }
  }
}

inline RowsView rows_of(RowsView view, Range rows) {
  view.data = view.f32(rows.begin, 0);
  view.rows = rows.size();
  return view;
}

struct DefinedResults {
  ReferenceForward forward;
  DefinedGradients gradients;
};

inline DefinedResults defined_results(const PackedDocuments& pack) {
  DefinedResults out;
  const auto append = [](std::vector<double>& all, const std::vector<double>& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  const AttentionCase& c = pack.c;
  for (size_t i = 0; i < pack.documents.size(); ++i) {
    const Document& document = pack.documents[i];
    const Range rows = pack.rows(i);
    const auto sees = [&](int64_t q, int64_t k) {
      return mask_allows(document.mask, document.length, q, k);
    };
    const DefinedAttention attention{
        c.shape, rows_of(c.q.view, rows), rows_of(c.k.view, rows), rows_of(c.v.view, rows), sees,
        {}};
    const ReferenceForward forward = defined_forward(attention);
    const DefinedGradients gradients = defined_backward(attention, rows_of(c.d_o.view, rows));
    append(out.forward.o, forward.o);
    append(out.forward.lse, forward.lse);
    append(out.gradients.dq, gradients.dq);
    append(out.gradients.dk, gradients.dk);
    append(out.gradients.dv, gradients.dv);
  }
  return out;
}

/// Compares all that forward_and_backward leaves.
inline void expect_defined_results(const PackedDocuments& pack, const DefinedResults& expected) {
  int64_t longest = 1;
  for (const Document& document : pack.documents) longest = std::max(longest, document.length);
  const AttentionCase& c = pack.c;
  const int64_t dim = std::max(c.shape.head_dim, c.shape.v_head_dim);
  const double forward = forward_tolerance(longest, c.shape.head_dim);
  const double backward = backward_tolerance(longest * c.shape.heads, dim);
  EXPECT_TRUE(rows_close(c.o.view, expected.forward.o, forward)) << "o";
  EXPECT_TRUE(rows_close(c.lse.view, expected.forward.lse, forward)) << "lse";
  EXPECT_TRUE(rows_close(c.dq.view, expected.gradients.dq, backward)) << "dq";
  EXPECT_TRUE(rows_close(c.dk.view, expected.gradients.dk, backward)) << "dk";
  EXPECT_TRUE(rows_close(c.dv.view, expected.gradients.dv, backward)) << "dv";
}

}  // namespace cadenza
