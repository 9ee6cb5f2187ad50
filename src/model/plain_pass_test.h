#pragma once

// For the tests of this layer: documents on one rank, causal attention by plain loops in double,
// and the segments driven in order. Nothing of the runtime is used, so that a fault there cannot
// hide one here.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "model/llama.h"

namespace cadenza {

/// Small, and without a divisor in common between its sizes.
inline ModelConfig small_config(bool tied) {
  ModelConfig config;
  config.vocab_size = 13;
  config.hidden_size = 10;
  config.intermediate_size = 7;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 6;
  config.tie_word_embeddings = tied;
  config.initializer_range = 0.4;  // so that every part matters
  return config;
}

/// Rows of one document after the other; targets stay inside documents.
inline RankTokens tokens_of_documents(const std::vector<int64_t>& ids,
                                      const std::vector<int64_t>& lengths) {
  RankTokens tokens;
  size_t row = 0;
  for (const int64_t length : lengths) {
    for (int64_t i = 0; i < length; ++i, ++row) {
      tokens.ids.push_back(ids[row]);
      tokens.positions.push_back(i);
      tokens.targets.push_back(i + 1 < length ? ids[row + 1] : RankTokens::kNoTarget);
    }
  }
  return tokens;
}

/// [rows, heads, dim] with a gap after each row when asked, so that strides matter.
struct Rows {
  Rows(int64_t rows, int64_t heads, int64_t dim, int64_t gap)
      : values(static_cast<size_t>(rows * (heads * dim + gap)), NAN) {
    view = contiguous_rows(values.data(), rows, heads, dim);
    view.row_stride += gap;
  }
  std::vector<float> values;
  RowsView view;
};

/// Buffers of one layer's attention, and attention itself.
struct PlainAttention {
  PlainAttention(const Segments& model, int64_t rows, int64_t gap)
      : q(rows, model.heads(), model.head_dim(), gap),
        k(rows, model.kv_heads(), model.head_dim(), gap),
        v(rows, model.kv_heads(), model.head_dim(), gap),
        o(rows, model.heads(), model.head_dim(), gap),
        dq(q),
        dk(k),
        dv(v),
        d_o(o) {
    const auto rebase = [](Rows& copy) { copy.view.data = copy.values.data(); };
    rebase(dq), rebase(dk), rebase(dv), rebase(d_o);
  }
  PlainAttention(PlainAttention&&) = default;

  QkvViews qkv() const { return {q.view, k.view, v.view}; }
  QkvViews d_qkv() const { return {dq.view, dk.view, dv.view}; }

  /// Weights of the keys of document rows [begin, query] for one query row and head.
  std::vector<double> weights(int64_t begin, int64_t query, int64_t head) const {
    const int64_t kv_head = head / (q.view.heads / k.view.heads);
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.view.dim));
    std::vector<double> result;
    double sum = 0;
    for (int64_t key = begin; key <= query; ++key) {
      double score = 0;
      for (int64_t i = 0; i < q.view.dim; ++i) {
        score += double{q.view.f32(query, head)[i]} * k.view.f32(key, kv_head)[i];
      }
      result.push_back(std::exp(score * scale));
      sum += result.back();
    }
    for (double& weight : result) weight /= sum;
    return result;
  }

  template <typename Each>
  void for_each_query(const std::vector<int64_t>& lengths, const Each& each) const {
    int64_t begin = 0;
    for (const int64_t length : lengths) {
      for (int64_t query = begin; query < begin + length; ++query) {
        for (int64_t head = 0; head < q.view.heads; ++head) each(begin, query, head);
      }
      begin += length;
    }
  }

  void forward(const std::vector<int64_t>& lengths) {
    for_each_query(lengths, [&](int64_t begin, int64_t query, int64_t head) {
      const std::vector<double> p = weights(begin, query, head);
      const int64_t kv_head = head / (q.view.heads / k.view.heads);
      for (int64_t i = 0; i < q.view.dim; ++i) {
        double sum = 0;
        for (size_t j = 0; j < p.size(); ++j) {
          sum += p[j] * v.view.f32(begin + static_cast<int64_t>(j), kv_head)[i];
        }
        o.view.f32(query, head)[i] = static_cast<float>(sum);
      }
    });
  }

  void backward(const std::vector<int64_t>& lengths) {
    for (Rows* rows : {&dq, &dk, &dv}) std::fill(rows->values.begin(), rows->values.end(), 0.0f);
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.view.dim));
    for_each_query(lengths, [&](int64_t begin, int64_t query, int64_t head) {
      const std::vector<double> p = weights(begin, query, head);
      const int64_t kv_head = head / (q.view.heads / k.view.heads);
      const float* const d_out = d_o.view.f32(query, head);
      double expected = 0;  // rowsum(dO * O)
      for (int64_t i = 0; i < q.view.dim; ++i)
        expected += double{d_out[i]} * o.view.f32(query, head)[i];
      for (size_t j = 0; j < p.size(); ++j) {
        const int64_t key = begin + static_cast<int64_t>(j);
        double dp = 0;
        for (int64_t i = 0; i < q.view.dim; ++i)
          dp += double{d_out[i]} * v.view.f32(key, kv_head)[i];
        const double ds = p[j] * (dp - expected) * scale;
        for (int64_t i = 0; i < q.view.dim; ++i) {
          dq.view.f32(query, head)[i] += static_cast<float>(ds * k.view.f32(key, kv_head)[i]);
          dk.view.f32(key, kv_head)[i] += static_cast<float>(ds * q.view.f32(query, head)[i]);
          dv.view.f32(key, kv_head)[i] += static_cast<float>(p[j] * d_out[i]);
        }
      }
    });
  }

  Rows q, k, v, o, dq, dk, dv, d_o;
};

struct PassResult {
  std::vector<float> row_losses;
  int64_t first_bad_row = -1;
  double loss_sum() const { return std::accumulate(row_losses.begin(), row_losses.end(), 0.0); }
};

struct PassOptions {
  std::vector<int64_t> lengths;  // documents
  double loss_scale = 1.0;
  bool training = true;
  int64_t gap = 0;
};

/// Forward and, when training, backward; gradients are added to the model's.
inline PassResult plain_pass(Segments& model, const RankTokens& tokens,
                             const PassOptions& options) {
  const auto run = model.start(tokens, options.loss_scale, options.training);
  std::vector<PlainAttention> layers;
  for (int l = 0; l < model.layers(); ++l) layers.emplace_back(model, tokens.rows(), options.gap);
  for (int s = 0; s <= model.layers(); ++s) {
    const RowsView o = s > 0 ? layers[static_cast<size_t>(s) - 1].o.view : RowsView{};
    const bool last = s == model.layers();
    run->forward(s, o, last ? QkvViews{} : layers[static_cast<size_t>(s)].qkv());
    if (!last) layers[static_cast<size_t>(s)].forward(options.lengths);
  }
  for (int s = model.layers(); options.training && s >= 0; --s) {
    const bool last = s == model.layers();
    if (!last) layers[static_cast<size_t>(s)].backward(options.lengths);
    run->backward(s, last ? QkvViews{} : layers[static_cast<size_t>(s)].d_qkv(),
                  s > 0 ? layers[static_cast<size_t>(s) - 1].d_o.view : RowsView{});
  }
  return {run->row_losses(), run->first_bad_row()};
}

}  // namespace cadenza
