#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "kernels/packed_documents_test.h"

namespace cadenza {
namespace {

constexpr uint64_t kSeed = 20251111;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");
constexpr AttentionShape kShape{
    .heads = 4, .kv_heads = 2, .head_dim = 16, .v_head_dim = 16, .scale = 0.25f};

/// Some end inside a tile of their neighbour, some fill several.
PackedDocuments neighbours() {
  Rng rng(kSeed);
  std::vector<Document> documents = documents_of_lengths({3, 1, 5, 70, 2, 33, 8, 130, 4});
  documents[5].mask = {.kind = Mask::Kind::kFull};
  documents[7].mask = {.kind = Mask::Kind::kWindow, .window = 40, .sinks = 2};
  PackedDocuments pack = pack_documents(rng, kShape, documents, false);
  tasks_of_pieces(pack);
  return pack;
}

struct Input {
  const char* name;
  TestRows AttentionCase::*rows;
};
const Input kInputs[] = {{"q", &AttentionCase::q},
                         {"k", &AttentionCase::k},
                         {"v", &AttentionCase::v},
                         {"d_o", &AttentionCase::d_o}};
const Input kOutputs[] = {{"o", &AttentionCase::o},
                          {"lse", &AttentionCase::lse},
                          {"dq", &AttentionCase::dq},
                          {"dk", &AttentionCase::dk},
                          {"dv", &AttentionCase::dv}};

bool row_is_finite(const RowsView& view, int64_t row) {
  for (const double x : as_doubles(rows_of(view, {row, row + 1}))) {
    if (!std::isfinite(x)) return false;
  }
  return true;
}

std::set<int64_t> rows_not_finite(const RowsView& view) {
  std::set<int64_t> found;
  for (int64_t row = 0; row < view.rows; ++row) {
    if (!row_is_finite(view, row)) found.insert(row);
  }
  return found;
}

class AttentionIsolation : public EveryIsa {};

TEST_P(AttentionIsolation, NoNumberOfOneDocumentReachesAnother) {
  PackedDocuments clean = neighbours();
  forward_and_backward(clean.c, *backend());
  for (const size_t poisoned : {0, 1, 3, 5, 7, 8}) {
    for (const Input& input : kInputs) {
      for (const float value : {kNan, kInfinity, -kInfinity}) {
        SCOPED_TRACE(cat(value, " all over ", input.name, " of document ", poisoned));
        PackedDocuments pack = neighbours();
        TestRows document;
        document.view = rows_of((pack.c.*input.rows).view, pack.rows(poisoned));
        set_all(document, value);
        forward_and_backward(pack.c, *backend());
        const RowsView dk = rows_of(pack.c.dk.view, pack.rows(poisoned));
        EXPECT_FALSE(rows_not_finite(dk).empty()) << "the poison does not show at all";
        for (const Input& output : kOutputs) {
          for (size_t i = 0; i < pack.documents.size(); ++i) {
            if (i == poisoned) continue;
            const RowsView got = rows_of((pack.c.*output.rows).view, pack.rows(i));
            const RowsView expected = rows_of((clean.c.*output.rows).view, pack.rows(i));
            ASSERT_TRUE(rows_close(got, as_doubles(expected), backward_tolerance(520, 16)))
                << output.name << " of document " << i;
          }
        }
      }
    }
  }
}

/// One document between two others, and which rows of it a NaN must reach.
class NanInOneElement : public EveryIsa {
 protected:
  static constexpr int64_t kBefore = 5, kLength = 150;
  static PackedDocuments windowed() {
    Rng rng(kSeed + 1);
    std::vector<Document> documents = documents_of_lengths({kBefore, kLength, 7});
    documents[1].mask = {.kind = Mask::Kind::kWindow, .window = 20};
    PackedDocuments pack = pack_documents(rng, kShape, documents, false);
    tasks_of_pieces(pack);
    return pack;
  }
  static std::set<int64_t> queries_of(int64_t key) {
    std::set<int64_t> rows;
    for (int64_t q = key; q < std::min(kLength, key + 20); ++q) rows.insert(kBefore + q);
    return rows;
  }
  static std::set<int64_t> keys_of(const std::set<int64_t>& queries) {
    std::set<int64_t> rows;
    for (const int64_t row : queries) {
      const int64_t q = row - kBefore;
      for (int64_t k = std::max<int64_t>(0, q - 19); k <= q; ++k) rows.insert(kBefore + k);
    }
    return rows;
  }
  AttentionCase run(TestRows AttentionCase::*input, int64_t row) const {
    PackedDocuments pack = windowed();
    (pack.c.*input).view.f32(kBefore + row, 1)[7] = kNan;
    forward_and_backward(pack.c, *backend());
    return std::move(pack.c);
  }
  static constexpr int64_t kAt[] = {0, 1, 31, 47, 64, 127, 128, kLength - 1};
};

TEST_P(NanInOneElement, OfAQueryReachesItsRowAndTheGradientsOfItsKeys) {
  for (const int64_t at : kAt) {
    SCOPED_TRACE(cat("row ", at));
    const AttentionCase c = run(&AttentionCase::q, at);
    const std::set<int64_t> row{kBefore + at};
    EXPECT_EQ(rows_not_finite(c.o.view), row);
    EXPECT_EQ(rows_not_finite(c.lse.view), row);
    EXPECT_EQ(rows_not_finite(c.dq.view), row);
    EXPECT_EQ(rows_not_finite(c.dk.view), keys_of(row));
    EXPECT_EQ(rows_not_finite(c.dv.view), keys_of(row));
  }
}

TEST_P(NanInOneElement, OfAKeyReachesTheQueriesThatSeeItAndTheirKeys) {
  for (const int64_t at : kAt) {
    SCOPED_TRACE(cat("row ", at));
    const AttentionCase c = run(&AttentionCase::k, at);
    EXPECT_EQ(rows_not_finite(c.o.view), queries_of(at));
    EXPECT_EQ(rows_not_finite(c.lse.view), queries_of(at));
    EXPECT_EQ(rows_not_finite(c.dq.view), queries_of(at));
    EXPECT_EQ(rows_not_finite(c.dk.view), keys_of(queries_of(at)));
    EXPECT_EQ(rows_not_finite(c.dv.view), keys_of(queries_of(at)));
  }
}

TEST_P(NanInOneElement, OfAValueReachesTheQueriesThatSeeItButNoLseAndNoDv) {
  for (const int64_t at : kAt) {
    SCOPED_TRACE(cat("row ", at));
    const AttentionCase c = run(&AttentionCase::v, at);
    EXPECT_EQ(rows_not_finite(c.o.view), queries_of(at));
    EXPECT_THAT(rows_not_finite(c.lse.view), testing::IsEmpty());
    EXPECT_EQ(rows_not_finite(c.dq.view), queries_of(at));
    EXPECT_EQ(rows_not_finite(c.dk.view), keys_of(queries_of(at)));
    EXPECT_THAT(rows_not_finite(c.dv.view), testing::IsEmpty());
  }
}

TEST_P(NanInOneElement, OfAnOutputGradientReachesItsQueryAndItsKeys) {
  for (const int64_t at : kAt) {
    SCOPED_TRACE(cat("row ", at));
    const AttentionCase c = run(&AttentionCase::d_o, at);
    const std::set<int64_t> row{kBefore + at};
    EXPECT_THAT(rows_not_finite(c.o.view), testing::IsEmpty());
    EXPECT_EQ(rows_not_finite(c.dq.view), row);
    EXPECT_EQ(rows_not_finite(c.dk.view), keys_of(row));
    EXPECT_EQ(rows_not_finite(c.dv.view), keys_of(row));
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, AttentionIsolation, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });
INSTANTIATE_TEST_SUITE_P(Cpu, NanInOneElement, testing::ValuesIn(cpu::supported_isas()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace cadenza
