#include <gtest/gtest.h>

#include "base/memory.h"
#include "step/run_plan_test.h"

namespace cadenza {
namespace {

/// A recorded model that notes how much memory is counted when the backward begins.
class WatchedModel final : public Segments {
 public:
  explicit WatchedModel(RecordedModel& model) : model_(model) {}
  int layers() const override { return model_.layers(); }
  int64_t heads() const override { return model_.heads(); }
  int64_t kv_heads() const override { return model_.kv_heads(); }
  int64_t head_dim() const override { return model_.head_dim(); }
  Dtype dtype() const override { return model_.dtype(); }
  std::unique_ptr<SegmentRun> start(const RankTokens& tokens, double scale,
                                    bool training) override {
    return std::make_unique<Run>(*this, model_.start(tokens, scale, training));
  }
  int64_t bytes_at_backward() const { return bytes_at_backward_; }

 private:
  class Run final : public SegmentRun {
   public:
    Run(WatchedModel& watch, std::unique_ptr<SegmentRun> run)
        : watch_(watch), run_(std::move(run)) {}
    void forward(int segment, const RowsView& o, const QkvViews& out) override {
      run_->forward(segment, o, out);
    }
    void backward(int segment, const QkvViews& d_qkv, const RowsView& d_o) override {
      if (segment == watch_.layers()) watch_.bytes_at_backward_ = MemoryCounter::current_bytes();
      run_->backward(segment, d_qkv, d_o);
    }
    const std::vector<float>& row_losses() const override { return run_->row_losses(); }
    int64_t first_bad_row() const override { return run_->first_bad_row(); }

   private:
    WatchedModel& watch_;
    std::unique_ptr<SegmentRun> run_;
  };

  RecordedModel& model_;
  int64_t bytes_at_backward_ = 0;
};

class KeptMemory : public testing::TestWithParam<Dtype> {};

// From forward to backward a layer keeps Q, K, V at the server, and O and LSE at home; and there is
// dO of the last layer. All but LSE in the model's dtype.
TEST_P(KeptMemory, IsThatOfTheRowsInTheModelsDtype) {
  constexpr int64_t kRows = 70;
  const Batch batch = fill_sequentially(documents_of_lengths({50, 20}), 1, kRows);
  RecordedModel model(batch, kLayers, kHeads, kKvHeads, kHeadDim, 4, GetParam());
  WatchedModel watched(model);
  const int64_t before = MemoryCounter::current_bytes();
  run_plan(plan_with("home", batch, 1), [&](Rank) -> Segments& { return watched; });
  const int64_t q_row = kHeads * kHeadDim, kv_rows = 2 * kKvHeads * kHeadDim;
  const int64_t elements = kLayers * (q_row + kv_rows + q_row) + q_row;
  const int64_t lse = kLayers * kHeads;
  EXPECT_EQ(watched.bytes_at_backward() - before,
            kRows * (elements * dtype_bytes(GetParam()) + lse * 4));
  EXPECT_EQ(MemoryCounter::current_bytes(), before);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, KeptMemory, testing::Values(Dtype::kFloat32, Dtype::kBFloat16),
                         [](const auto& instance) { return dtype_name(instance.param); });

}  // namespace
}  // namespace cadenza
