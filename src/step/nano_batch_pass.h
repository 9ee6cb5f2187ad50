#pragma once

#include <memory>

#include "attention/rank_attention.h"
#include "step/pass_runner.h"

namespace cadenza {

/// One nano-batch of a pass while it runs: segments and attention hand each other their rows.
class NanoBatchPass {
 public:
  NanoBatchPass(AttentionContext& context, Segments& model, const AttentionSpec& spec,
                const NanoBatch& nano_batch, double loss_scale, bool training, Tag first_tag);
  Tag end_tag() const { return attention_.end_tag(); }
  void carry_from(NanoBatchPass& first) { attention_.carry_from(first.attention_); }

  void execute(const Action& action);
  NanoBatchResult result() const;

 private:
  void segment_forward(int segment);
  void segment_backward(int segment);

  LaneClock& clock_;
  const int layers_;
  const bool training_;
  std::unique_ptr<SegmentRun> run_;
  RankAttention attention_;
  int64_t first_bad_row_ = -1;
};

}  // namespace cadenza
