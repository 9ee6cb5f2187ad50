#include "bench/torch_attention.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "bench/seconds_of.h"

namespace cadenza::bench {
namespace {

at::ScalarType scalar_type(Dtype dtype) {
  return dtype == Dtype::kFloat32 ? at::kFloat : at::kBFloat16;
}

/// [rows, heads, dim], on the view's memory.
at::Tensor tensor_of(const RowsView& view) {
  return at::from_blob(view.data, {view.rows, view.heads, view.dim},
                       {view.row_stride, view.head_stride, 1}, scalar_type(view.dtype));
}

/// `batch` × `rows` rows from `begin` as [batch, heads, rows, dim], the first `heads` heads.
at::Tensor heads_first(const at::Tensor& packed, int64_t begin, int64_t batch, int64_t rows,
                       int64_t heads) {
  return packed.narrow(0, begin, batch * rows)
      .narrow(1, 0, heads)
      .view({batch, rows, heads, packed.size(2)})
      .transpose(1, 2);
}

/// True where row i sees column j.
at::Tensor allowed(int64_t rows, int64_t columns, int64_t lowest, int64_t highest) {
  at::Tensor all = at::ones({rows, columns}, at::kBool);
  return all.tril_(std::min(highest, columns)).triu_(std::max(lowest, -rows));
}

constexpr double kMasked = -INFINITY;

/// Whether the operators, forward and backward, take fewer kv heads than query heads.
bool takes_grouped_heads() {
  try {
    const at::Tensor q = at::ones({1, 4, 16, 16}), kv = at::ones({1, 2, 16, 16});
    const auto [o, lse] = at::_scaled_dot_product_flash_attention_for_cpu(q, kv, kv, 0.0, true);
    const auto gradients =
        at::_scaled_dot_product_flash_attention_for_cpu_backward(q, q, kv, kv, o, lse, 0.0, true);
    return std::get<1>(gradients).size(1) == 2;
  } catch (const std::exception&) {
    return false;
  }
}

struct Call {
  int64_t q_begin, q_rows, batch;
  bool causal;
  at::Tensor q, k, v, d_o;
  std::optional<at::Tensor> mask;
  at::Tensor o, lse, dq, dk, dv;

  void forward(double scale) {
    std::tie(o, lse) =
        at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, mask, scale);
  }
  void backward(double scale) {
    std::tie(dq, dk, dv) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
        d_o, q, k, v, o, lse, 0.0, causal, mask, scale);
  }
};

double sum_of_squares(const at::Tensor& x) { return x.square().sum(at::kDouble).item<double>(); }

/// Squares of the difference and of PyTorch's result.
struct Squares {
  double difference = 0, norm = 0;
  void add(const at::Tensor& ours, const at::Tensor& torch) {
    const at::Tensor theirs = torch.to(at::kFloat);
    difference += sum_of_squares(ours.to(at::kFloat).sub(theirs));
    norm += sum_of_squares(theirs);
  }
  double distance() const { return std::sqrt(difference / norm); }
};

}  // namespace

struct TorchAttention::Impl {
  const TorchWork& torch;
  int threads;
  double scale;
  int64_t head_dim, v_head_dim;
  std::vector<Call> calls;
  // Calls of one shape share a mask.
  std::map<std::tuple<int64_t, int64_t, int64_t, int64_t>, at::Tensor> masks;

  Impl(const AttentionInputs& in, const AttentionShape& shape, const TorchWork& work,
       int threads_used)
      : torch(work),
        threads(threads_used),
        scale(shape.scale),
        head_dim(shape.head_dim),
        v_head_dim(shape.v_head_dim) {
    switch (work.form) {
      case TorchWork::Form::kCalls:
        for (const AttentionTask& task : work.calls) add_call(in, shape, task, 1);
        break;
      case TorchWork::Form::kBatch:
        add_call(in, shape, work.calls.front(), static_cast<int64_t>(work.calls.size()));
        break;
      case TorchWork::Form::kDenseMask:
        add_call(in, shape, {.q_rows = in.q.rows, .kv_rows = in.k.rows, .lowest = 0, .highest = 0},
                 1);
        break;
    }
  }

  /// The backward hands whole kv heads to threads, so unrepeated ones must come out even.
  bool keeps_groups(int64_t kv_heads) const {
    static const bool can = takes_grouped_heads();
    return can && kv_heads % threads == 0;
  }

  at::Tensor padded(const at::Tensor& rows) const {
    return at::constant_pad_nd(rows, {0, head_dim - v_head_dim});
  }

  void add_call(const AttentionInputs& in, const AttentionShape& shape, const AttentionTask& task,
                int64_t batch) {
    const int64_t group = shape.heads / shape.kv_heads;
    const int64_t heads = torch.heads, kv_heads = (heads + group - 1) / group;
    const auto of_queries = [&](const RowsView& view) {
      return heads_first(tensor_of(view), task.q_begin, batch, task.q_rows, heads).contiguous();
    };
    const auto of_keys = [&](const RowsView& view) {
      const at::Tensor rows =
          heads_first(tensor_of(view), task.kv_begin, batch, task.kv_rows, kv_heads);
      return keeps_groups(batch * kv_heads) ? rows.contiguous()
                                            : rows.repeat_interleave(heads / kv_heads, 1);
    };
    Call call{.q_begin = task.q_begin,
              .q_rows = task.q_rows,
              .batch = batch,
              .causal = torch.form != TorchWork::Form::kDenseMask && is_causal_square(task),
              .q = of_queries(in.q),
              .k = of_keys(in.k),
              .v = padded(of_keys(in.v)),
              .d_o = padded(of_queries(in.d_o))};
    if (torch.form == TorchWork::Form::kDenseMask) {
      call.mask = dense_mask(in);
    } else if (!call.causal && !is_full(task)) {
      call.mask = mask_of(task, scalar_type(in.q.dtype));
    }
    calls.push_back(std::move(call));
  }

  at::Tensor mask_of(const AttentionTask& task, at::ScalarType type) {
    at::Tensor& mask = masks[{task.q_rows, task.kv_rows, task.lowest, task.highest}];
    if (!mask.defined()) {
      mask = at::full({task.q_rows, task.kv_rows}, kMasked, type);
      mask.masked_fill_(allowed(task.q_rows, task.kv_rows, task.lowest, task.highest), 0);
    }
    return mask;
  }

  at::Tensor dense_mask(const AttentionInputs& in) const {
    at::Tensor mask = at::full({in.q.rows, in.k.rows}, kMasked, scalar_type(in.q.dtype));
    for (const AttentionTask& task : torch.calls) {
      mask.narrow(0, task.q_begin, task.q_rows)
          .narrow(1, task.kv_begin, task.kv_rows)
          .masked_fill_(allowed(task.q_rows, task.kv_rows, task.lowest, task.highest), 0);
    }
    return mask;
  }

  template <typename Result>
  double distance(const RowsView& ours, const Result& result) const {
    Squares squares;
    for (const Call& call : calls) {
      squares.add(heads_first(tensor_of(ours), call.q_begin, call.batch, call.q_rows, torch.heads),
                  result(call).narrow(3, 0, ours.dim));
    }
    return squares.distance();
  }
};

TorchAttention::TorchAttention(const AttentionInputs& inputs, const AttentionShape& shape,
                               const TorchWork& torch, int threads) {
  at::set_num_threads(threads);
  const c10::InferenceMode no_autograd;
  impl_ = std::make_unique<Impl>(inputs, shape, torch, threads);
}

TorchAttention::~TorchAttention() = default;

double TorchAttention::forward() {
  const c10::InferenceMode no_autograd;
  for (Call& call : impl_->calls)
    call.o = call.lse = at::Tensor();  // memory goes back outside the timing
  return seconds_of([&] {
    for (Call& call : impl_->calls) call.forward(impl_->scale);
  });
}

double TorchAttention::backward() {
  const c10::InferenceMode no_autograd;
  for (Call& call : impl_->calls) call.dq = call.dk = call.dv = at::Tensor();
  return seconds_of([&] {
    for (Call& call : impl_->calls) call.backward(impl_->scale);
  });
}

double TorchAttention::o_distance(const RowsView& o) const {
  const c10::InferenceMode no_autograd;
  return impl_->distance(o, [](const Call& call) { return call.o; });
}

double TorchAttention::dq_distance(const RowsView& dq) const {
  const c10::InferenceMode no_autograd;
  return impl_->distance(dq, [](const Call& call) { return call.dq; });
}

}  // namespace cadenza::bench
