#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "kernels/attention_case_test.h"

namespace cadenza {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// A call that is right in all, changed by `change`, must be refused with a message that holds
/// `text`.
void expect_refused(const std::function<void(AttentionCase&)>& change, const std::string& text) {
  Rng rng(1);
  AttentionCase c = make_case(rng, {4, 2, 8, 6, 0.3f}, 5, 7, false);
  c.tasks = {whole_task(c, Band::causal()), whole_task(c, Band::causal())};
  ASSERT_NO_THROW(check_args(c.forward()));
  ASSERT_NO_THROW(check_args(c.backward()));
  change(c);
  EXPECT_THAT([&] { make_cpu_backend(1)->attention_forward(c.forward()); },
              ThrowsMessage<InternalError>(HasSubstr(text)));
  EXPECT_THAT([&] { make_cpu_backend(1)->attention_backward(c.backward()); },
              ThrowsMessage<InternalError>(HasSubstr(text)));
}

TEST(CheckArgs, RefusesTasksThatLeaveTheBuffersNamingTaskAndField) {
  expect_refused([](AttentionCase& c) { c.tasks[1].q_begin = 1; }, "task 1: expected q_begin");
  expect_refused([](AttentionCase& c) { c.tasks[1].q_begin = -1; }, "task 1: expected q_begin");
  expect_refused([](AttentionCase& c) { c.tasks[0].kv_rows = 8; }, "task 0: expected kv_begin");
  expect_refused([](AttentionCase& c) { c.tasks[0].kv_begin = INT64_MAX; }, "kv_begin");
  expect_refused([](AttentionCase& c) { c.tasks[0].kv_rows = -1; }, "kv_rows");
  expect_refused([](AttentionCase& c) { c.tasks[1].head_end = 5; }, "task 1: expected 0 <= head");
  expect_refused([](AttentionCase& c) { c.tasks[1].head_begin = -2; }, "got head_begin -2");
  expect_refused([](AttentionCase& c) { c.tasks[1].highest = INT64_MAX; }, "highest");
}

TEST(CheckArgs, RefusesShapesThatDisagree) {
  expect_refused([](AttentionCase& c) { c.shape.kv_heads = 3; }, "kv_heads");
  expect_refused([](AttentionCase& c) { c.shape.head_dim = 0; }, "head_dim");
  expect_refused([](AttentionCase& c) { c.shape.heads = 2; }, "expected q of [5, 2, 8]");
  expect_refused([](AttentionCase& c) { c.v.view.dim = 8; }, "expected v of [7, 2, 6]");
  expect_refused([](AttentionCase& c) { c.k.view.data = nullptr; }, "the 7 rows of k");
  expect_refused(
      [](AttentionCase& c) {
        c.lse.view.rows = 4;
        c.delta.view.rows = 4;
      },
      "of [5, 4, 1], got [4, 4, 1]");
}

TEST(CheckArgs, RefusesElementsThatTheKernelDoesNotRead) {
  expect_refused([](AttentionCase& c) { c.q.view.dtype = Dtype::kBFloat16; },
                 "expected k in bf16 as q, got fp32");
  expect_refused([](AttentionCase& c) { c.v.view.dtype = Dtype::kBFloat16; },
                 "expected v in fp32 as q, got bf16");
  expect_refused([](AttentionCase& c) { c.lse.view.dtype = c.delta.view.dtype = Dtype::kBFloat16; },
                 "in fp32, got bf16");
  expect_refused([](AttentionCase& c) { c.v.view.device = Device::kCuda; }, "another device");
}

}  // namespace
}  // namespace cadenza
