#include "step/nano_batch_pass.h"

#include "base/check.h"
#include "base/error.h"

namespace cadenza {

NanoBatchPass::NanoBatchPass(AttentionContext& context, Segments& model, const AttentionSpec& spec,
                             const NanoBatch& nano_batch, double loss_scale, bool training,
                             Tag first_tag)
    : clock_(context.clock),
      layers_(model.layers()),
      training_(training),
      run_(model.start(nano_batch.tokens, loss_scale, training)),
      attention_(context, spec, nano_batch.programs, training, first_tag) {
  CADENZA_CHECK(attention_.home_rows() == nano_batch.tokens.rows(), attention_.home_rows(),
                " rows, ", nano_batch.tokens.rows(), " tokens");
}

void NanoBatchPass::execute(const Action& action) {
  using Kind = Action::Kind;
  switch (action.kind) {
    case Kind::kSegmentForward:
      return segment_forward(action.index);
    case Kind::kSendInputs:
      return attention_.send_inputs(action.index);
    case Kind::kAttendForward:
      return attention_.attend_forward(action.index);
    case Kind::kMergeOutputs:
      return attention_.merge_outputs(action.index);
    case Kind::kSendGradients:
      return attention_.send_gradients(action.index);
    case Kind::kAttendBackward:
      return attention_.attend_backward(action.index);
    case Kind::kSumGradients:
      return attention_.sum_gradients(action.index);
    case Kind::kSegmentBackward:
      return segment_backward(action.index);
    default:
      throw InternalError(cat("[step] ", to_string(action), " is no action of a pass"));
  }
}

NanoBatchResult NanoBatchPass::result() const {
  return {.row_losses = run_->row_losses(), .first_bad_row = first_bad_row_};
}

void NanoBatchPass::segment_forward(int segment) {
  const LaneClock::Scope computing(clock_, Lane::kSegment);
  const RowsView o = segment == 0 ? RowsView{} : attention_.output(segment - 1);
  run_->forward(segment, o, segment == layers_ ? QkvViews{} : attention_.input_rows(segment));
  // Without a backward, nothing reads the layer before again.
  if (!training_ && segment > 0) attention_.release(segment - 1);
}

void NanoBatchPass::segment_backward(int segment) {
  const LaneClock::Scope computing(clock_, Lane::kSegment);
  const RowsView d_o = segment == 0 ? RowsView{} : attention_.output_gradient_rows(segment - 1);
  if (segment == layers_) {
    run_->backward(segment, {}, d_o);
  } else {
    run_->backward(segment, attention_.input_gradients(segment), d_o);
    attention_.release(segment);
  }
  if (segment == 0) first_bad_row_ = run_->first_bad_row();
}

}  // namespace cadenza
