#include "bench/our_attention.h"

#include "bench/seconds_of.h"

namespace cadenza::bench {

OurAttention::OurAttention(const Work& work, Dtype dtype, Backend& backend)
    : work_(work), backend_(backend) {
  const AttentionShape& s = work.shape;
  q_ = RowsMemory(work.q_rows, s.heads, s.head_dim, dtype);
  k_ = RowsMemory(work.kv_rows, s.kv_heads, s.head_dim, dtype);
  v_ = RowsMemory(work.kv_rows, s.kv_heads, s.v_head_dim, dtype);
  o_ = RowsMemory(work.q_rows, s.heads, s.v_head_dim, dtype);
  lse_ = RowsMemory(work.q_rows, s.heads, 1, Dtype::kFloat32);
  d_o_ = RowsMemory(work.q_rows, s.heads, s.v_head_dim, dtype);
  Rng rng(1);
  for (RowsMemory* rows : {&q_, &k_, &v_, &d_o_}) rows->fill_random(rng);
}

double OurAttention::forward() {
  return seconds_of([&] {
    backend_.attention_forward(
        {work_.shape, work_.tasks, q_.view(), k_.view(), v_.view(), o_.view(), lse_.view()});
  });
}

void OurAttention::allocate_gradients() {
  const AttentionShape& s = work_.shape;
  delta_ = RowsMemory(work_.q_rows, s.heads, 1, Dtype::kFloat32);
  dq_ = RowsMemory(work_.q_rows, s.heads, s.head_dim, Dtype::kFloat32);
  dk_ = RowsMemory(work_.kv_rows, s.kv_heads, s.head_dim, Dtype::kFloat32);
  dv_ = RowsMemory(work_.kv_rows, s.kv_heads, s.v_head_dim, Dtype::kFloat32);
}

double OurAttention::backward() {
  if (dq_.view().data == nullptr) allocate_gradients();
  return seconds_of([&] {
    backend_.row_dot(d_o_.view(), o_.view(), delta_.view());
    for (const RowsMemory* gradient : {&dq_, &dk_, &dv_}) backend_.fill(gradient->view(), 0);
    backend_.attention_backward({work_.shape, work_.tasks, q_.view(), k_.view(), v_.view(),
                                 d_o_.view(), lse_.view(), delta_.view(), dq_.view(), dk_.view(),
                                 dv_.view()});
  });
}

}  // namespace cadenza::bench
