// One pass through the segments. A segment is a small autograd graph with cut ends:
//
//   residual x (leaf), o (leaf) -> [attention output, MLP] -> residual, and [norm, projections] ->
//   q, k, v before RoPE
//
// The ends are kept as graph edges, not as tensors: q, k and v live in the caller's buffers only.
// RoPE is outside the graph, as a rotation forward and the opposite one backward; so are the
// embedding (rows of a table) and the head (llama_head.cc).
#include <ATen/ATen.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/variable.h>

#include <cmath>
#include <optional>

#include "base/cat.h"
#include "base/check.h"
#include "base/error.h"
#include "model/linear_layer.h"
#include "model/llama_context.h"
#include "model/rms_norm.h"
#include "model/rope.h"

namespace cadenza {
namespace {

using torch::autograd::edge_list;
using torch::autograd::variable_list;

// The caller's rows in place: [rows, heads, dim], any strides.
at::Tensor tensor_over(const RowsView& view) {
  CADENZA_CHECK(view.device == Device::kCpu, "the model computes on the CPU");
  const auto type = view.dtype == Dtype::kFloat32 ? at::kFloat : at::kBFloat16;
  return at::from_blob(view.data, {view.rows, view.heads, view.dim},
                       {view.row_stride, view.head_stride, 1}, type);
}

// cos, sin: [rows, 1, dim / 2].
struct Rotation {
  at::Tensor cosine;
  at::Tensor sine;
};

Rotation rotation_of(const std::vector<float>& frequencies, const std::vector<int64_t>& positions) {
  RopeTable table = rope_table(frequencies, positions);
  const std::vector<int64_t> shape = {static_cast<int64_t>(positions.size()), 1,
                                      static_cast<int64_t>(frequencies.size())};
  return {at::from_blob(table.cosine.data(), shape, at::kFloat).clone(),
          at::from_blob(table.sine.data(), shape, at::kFloat).clone()};
}

// Turns the pairs (i, i + dim / 2) of each head, as Hugging Face lays them out. in, out: [rows,
// heads, dim], not the same memory, any dtypes: angles, products and sums are fp32.
void rotate(const at::Tensor& in, const Rotation& by, const at::Tensor& out) {
  const int64_t half = in.size(2) / 2;
  const at::Tensor first = in.narrow(2, 0, half);
  const at::Tensor second = in.narrow(2, half, half);
  out.narrow(2, 0, half).copy_(first * by.cosine - second * by.sine);
  out.narrow(2, half, half).copy_(second * by.cosine + first * by.sine);
}

// What a segment computes, with graph or without: [rows, width]. The last segment has no q, k, v.
struct SegmentOutputs {
  at::Tensor x;
  at::Tensor q, k, v;
};

// What backward needs: leaves, and the edges at which gradients of x, q, k, v (as present) enter.
struct SegmentGraph {
  at::Tensor x, o;
  edge_list ends;
};

// What a segment keeps: its inputs, or its graph.
struct SegmentState {
  at::Tensor x;
  RowsView o;
  std::optional<SegmentGraph> graph;
};

class LlamaRun final : public SegmentRun {
 public:
  LlamaRun(const LlamaContext& context, const RankTokens& tokens, double loss_scale, bool training)
      : context_(context),
        tokens_(tokens),
        loss_scale_(loss_scale),
        training_(training),
        states_(static_cast<size_t>(context.layers()) + 1),
        row_losses_(tokens.ids.size(), 0.0f) {
    if (rows() > 0) rotation_ = rotation_of(context.inverse_frequencies, tokens.positions);
  }

  void forward(int segment, const RowsView& o, const QkvViews& out) override {
    CADENZA_CHECK(segment == forward_next_, "forward of segment ", segment, " out of order");
    ++forward_next_;
    if (rows() == 0) return;
    if (training_) {
      forward_training(segment, o, out);
    } else {
      forward_inference(segment, o, out);
    }
  }

  void backward(int segment, const QkvViews& d_qkv, const RowsView& d_o) override {
    CADENZA_CHECK(training_, "the pass was started without training");
    CADENZA_CHECK(segment == backward_next() && forward_next_ == segments(), "backward of segment ",
                  segment, " out of order");
    ++backward_done_;
    if (rows() == 0) return;
    const at::NoGradGuard no_grad;
    SegmentGraph graph = take_graph(segment);
    variable_list gradients = entering_gradients(segment, d_qkv);
    torch::autograd::Engine::get_default_engine().execute(
        graph.ends, gradients, /*keep_graph=*/false, /*create_graph=*/false,
        /*accumulate_grad=*/true);
    gather_gradients(context_);
    d_x_ = graph.x.grad();
    if (segment > 0) {
      check_view(d_o, heads());
      tensor_over(d_o).copy_(graph.o.grad().view({rows(), heads(), head_dim()}));
    } else {
      accumulate_embedding();
      d_x_.reset();
    }
  }

  const std::vector<float>& row_losses() const override { return row_losses_; }
  int64_t first_bad_row() const override { return first_bad_row_; }

 private:
  int64_t rows() const { return tokens_.rows(); }
  int64_t heads() const { return context_.config.num_attention_heads; }
  int64_t kv_heads() const { return context_.config.num_key_value_heads; }
  int64_t head_dim() const { return context_.config.resolved_head_dim(); }
  int segments() const { return context_.layers() + 1; }
  int backward_next() const { return segments() - 1 - backward_done_; }
  bool is_last(int segment) const { return segment == context_.layers(); }

  void check_view(const RowsView& view, int64_t view_heads) const {
    CADENZA_CHECK(view.rows == rows() && view.heads == view_heads && view.dim == head_dim(),
                  "expected [", rows(), ", ", view_heads, ", ", head_dim(), "], got [", view.rows,
                  ", ", view.heads, ", ", view.dim, "]");
  }

  void forward_inference(int segment, const RowsView& o, const QkvViews& out) {
    const c10::InferenceMode inference;
    const at::Tensor attended = segment > 0 ? flat_o(o) : at::Tensor();
    const SegmentOutputs outputs = compute(segment, take_residual(segment), attended);
    if (is_last(segment)) {
      head_loss({context_, outputs.x, tokens_.targets, loss_scale_}, row_losses_);
      return;
    }
    x_ = outputs.x;
    write_qkv(outputs, out);
  }

  void forward_training(int segment, const RowsView& o, const QkvViews& out) {
    const at::NoGradGuard no_grad;
    SegmentState& state = states_[static_cast<size_t>(segment)];
    const at::Tensor x = take_residual(segment);
    SegmentOutputs outputs;
    if (context_.options.recompute == Recompute::kSegment) {
      state.x = x;
      state.o = o;
      outputs = compute(segment, x, segment > 0 ? flat_o(o) : at::Tensor());
    } else {
      state.graph.emplace();
      outputs = record(segment, x, o, *state.graph);
    }
    if (is_last(segment)) {
      d_x_ = head_loss_and_gradient({context_, outputs.x.detach(), tokens_.targets, loss_scale_},
                                    row_losses_);
      return;
    }
    x_ = outputs.x.detach();
    write_qkv(outputs, out);
  }

  // The residual that enters a segment; nobody else holds it then.
  at::Tensor take_residual(int segment) {
    if (segment > 0) return std::exchange(x_, at::Tensor());
    return context_.embedding().index_select(
        0, at::from_blob(tokens_.ids.data(), {rows()}, at::kLong));
  }

  // [rows, heads · dim] in the model's dtype; the caller's memory where its layout allows.
  at::Tensor flat_o(const RowsView& o) const {
    check_view(o, heads());
    return tensor_over(o).reshape({rows(), heads() * head_dim()}).to(context_.type());
  }

  SegmentOutputs compute(int segment, at::Tensor x, const at::Tensor& o) const {
    if (segment > 0) x = post_attention(segment - 1, x, o);
    if (is_last(segment)) return {.x = x, .q = {}, .k = {}, .v = {}};
    const at::Tensor normed = norm(x, segment, kInputNorm);
    return {.x = x,
            .q = linear_layer(normed, context_.layer(segment, kQ)),
            .k = linear_layer(normed, context_.layer(segment, kK)),
            .v = linear_layer(normed, context_.layer(segment, kV))};
  }

  at::Tensor post_attention(int layer, at::Tensor x, const at::Tensor& o) const {
    x = x + linear_layer(o, context_.layer(layer, kO));
    const at::Tensor normed = norm(x, layer, kPostNorm);
    const at::Tensor gate = at::silu(linear_layer(normed, context_.layer(layer, kGate)));
    const at::Tensor inner = gate * linear_layer(normed, context_.layer(layer, kUp));
    return x + linear_layer(inner, context_.layer(layer, kDown));
  }

  at::Tensor norm(const at::Tensor& x, int layer, LayerParameter which) const {
    return rms_norm(x, context_.layer(layer, which), context_.config.rms_norm_eps);
  }

  SegmentOutputs record(int segment, const at::Tensor& x, const RowsView& o,
                        SegmentGraph& graph) const {
    graph.x = x.detach().requires_grad_(true);
    if (segment > 0) graph.o = flat_o(o).detach().requires_grad_(true);
    const at::AutoGradMode recording(true);
    SegmentOutputs outputs = compute(segment, graph.x, graph.o);
    for (const at::Tensor* end : {&outputs.x, &outputs.q, &outputs.k, &outputs.v}) {
      if (end->defined()) graph.ends.push_back(torch::autograd::impl::gradient_edge(*end));
    }
    return outputs;
  }

  // Recorded in forward, or now again from the inputs.
  SegmentGraph take_graph(int segment) {
    SegmentState state = std::exchange(states_[static_cast<size_t>(segment)], SegmentState());
    if (state.graph) return std::move(*state.graph);
    SegmentGraph graph;
    record(segment, state.x, state.o, graph);
    return graph;
  }

  void write_qkv(const SegmentOutputs& outputs, const QkvViews& out) const {
    check_view(out.q, heads());
    check_view(out.k, kv_heads());
    check_view(out.v, kv_heads());
    const at::NoGradGuard no_grad;
    rotate(split_heads(outputs.q, heads()), rotation_, tensor_over(out.q));
    rotate(split_heads(outputs.k, kv_heads()), rotation_, tensor_over(out.k));
    tensor_over(out.v).copy_(split_heads(outputs.v, kv_heads()));
  }

  at::Tensor split_heads(const at::Tensor& flat, int64_t count) const {
    return flat.detach().view({rows(), count, head_dim()});
  }

  // In the order of SegmentGraph::ends.
  variable_list entering_gradients(int segment, const QkvViews& d_qkv) {
    variable_list gradients = {std::exchange(d_x_, at::Tensor())};
    if (is_last(segment)) return gradients;
    check_view(d_qkv.q, heads());
    check_view(d_qkv.k, kv_heads());
    check_view(d_qkv.v, kv_heads());
    gradients.push_back(rotate_back(d_qkv.q));
    gradients.push_back(rotate_back(d_qkv.k));
    // A copy: the engine may keep or overwrite what it is given.
    gradients.push_back(at::empty({rows(), kv_heads(), head_dim()}, context_.type())
                            .copy_(tensor_over(d_qkv.v))
                            .view({rows(), kv_heads() * head_dim()}));
    return gradients;
  }

  at::Tensor rotate_back(const RowsView& view) const {
    const at::Tensor out = at::empty({view.rows, view.heads, view.dim}, context_.type());
    rotate(tensor_over(view), {rotation_.cosine, rotation_.sine.neg()}, out);
    return out.view({view.rows, view.heads * view.dim});
  }

  // By hand, in the order of rows: libtorch's own would make a dense vocabulary × hidden gradient
  // first.
  void accumulate_embedding() {
    const at::Tensor d_x = d_x_.to(at::kFloat).contiguous();
    const int64_t width = context_.config.hidden_size;
    float* const table = context_.embedding_gradient().mutable_data_ptr<float>();
    for (int64_t row = 0; row < rows(); ++row) {
      const float* const from = d_x.const_data_ptr<float>() + row * width;
      float* const to = table + tokens_.ids[static_cast<size_t>(row)] * width;
      bool finite = true;
      for (int64_t i = 0; i < width; ++i) {
        finite = finite && std::isfinite(from[i]);
        to[i] += from[i];
      }
      if (!finite && first_bad_row_ < 0) first_bad_row_ = row;
    }
  }

  const LlamaContext& context_;
  RankTokens tokens_;
  double loss_scale_;
  bool training_;
  Rotation rotation_;
  std::vector<SegmentState> states_;
  at::Tensor x_;    // residual between two forwards
  at::Tensor d_x_;  // its gradient between two backwards
  std::vector<float> row_losses_;
  int64_t first_bad_row_ = -1;
  int forward_next_ = 0;
  int backward_done_ = 0;
};

void check_id(const char* what, int64_t row, int64_t id, int64_t vocab_size) {
  if (id >= 0 && id < vocab_size) return;
  throw DataError(cat("[model] ", what, " of row ", row, ": expected 0 to ", vocab_size - 1,
                      " (vocab_size ", vocab_size, "), got ", id,
                      "; use the tokenizer that belongs to the model"));
}

void check_tokens(const RankTokens& tokens, int64_t vocab_size) {
  CADENZA_CHECK(
      tokens.positions.size() == tokens.ids.size() && tokens.targets.size() == tokens.ids.size(),
      tokens.ids.size(), " ids, ", tokens.positions.size(), " positions, ", tokens.targets.size(),
      " targets");
  for (int64_t row = 0; row < tokens.rows(); ++row) {
    const auto i = static_cast<size_t>(row);
    check_id("token", row, tokens.ids[i], vocab_size);
    if (tokens.targets[i] != RankTokens::kNoTarget) {
      check_id("target", row, tokens.targets[i], vocab_size);
    }
    CADENZA_CHECK(tokens.positions[i] >= 0, "position ", tokens.positions[i], " of row ", row);
  }
}

}  // namespace

void gather_gradients(const LlamaContext& context) {
  if (context.type() == at::kFloat) return;
  for (size_t i = 0; i < context.weights.size(); ++i) {
    at::Tensor& gradient = context.weights[i].mutable_grad();
    if (!gradient.defined()) continue;
    context.gradients[i].add_(gradient);
    gradient.reset();
  }
}

std::unique_ptr<SegmentRun> start_llama_run(const LlamaContext& context, const RankTokens& tokens,
                                            double loss_scale, bool training) {
  check_tokens(tokens, context.config.vocab_size);
  return std::make_unique<LlamaRun>(context, tokens, loss_scale, training);
}

}  // namespace cadenza
