#include "bench/work.h"

#include <gtest/gtest.h>

#include "bench/workloads.h"

namespace cadenza::bench {
namespace {

/// By looking at every query and key.
int64_t counted(const Work& work) {
  int64_t triples = 0;
  for (const AttentionTask& task : work.tasks) {
    for (int64_t i = 0; i < task.q_rows; ++i) {
      for (int64_t j = 0; j < task.kv_rows; ++j) {
        if (task.lowest <= j - i && j - i <= task.highest) {
          triples += task.head_end - task.head_begin;
        }
      }
    }
  }
  return triples;
}

TEST(Work, TriplesAreThoseThatTheTasksCompute) {
  const AttentionShape shape = bench_shape(16);
  for (const Work& work : {causal_documents(shape, {7, 1, 30}), window_document(shape, 50, 9),
                           full_document(shape, 20), long_kv_tasks(shape, 2, 24, 8, 40),
                           thin_window_document(shape, 40)}) {
    EXPECT_EQ(count_triples(work), counted(work));
  }
}

TEST(Work, OperationsAreFourAndTenADimWhereDimsAreEqual) {
  const Work work = causal_documents(bench_shape(64), {10});
  EXPECT_EQ(forward_flops(work), 4.0 * 55 * 16 * 64);
  EXPECT_EQ(backward_flops(work), 2.5 * forward_flops(work));
}

TEST(Work, OperationsCountQkAndPvDimsApart) {
  const Work work = causal_documents(bench_shape(192, 128), {10});
  EXPECT_EQ(forward_flops(work), 2.0 * 55 * 16 * (192 + 128));
  EXPECT_EQ(backward_flops(work), 2.0 * 55 * 16 * (3 * 192 + 2 * 128));
}

TEST(Work, TinyDocumentsAndTheThinWindowHaveNearlyTheSameArea) {
  const AttentionShape shape = bench_shape(16);
  const auto tiny =
      static_cast<double>(count_triples(causal_documents(shape, std::vector<int64_t>(512, 8))));
  EXPECT_NEAR(static_cast<double>(count_triples(thin_window_document(shape, 4096))) / tiny, 1,
              1e-3);
}

TEST(Work, TasksWithLongKvComputeEveryQueryOnceAgainstItsOwnKeys) {
  for (const int64_t rows : {4, 16, 32}) {
    const Work work = long_kv_tasks(bench_shape(16), 2, 32, rows, 64);
    int64_t next = 0;
    for (const AttentionTask& task : work.tasks) {
      EXPECT_EQ(task.q_begin, next);
      next += task.q_rows;
      // The last query is the document's row keys + q, and it sees itself: the last key.
      const int64_t document = task.q_begin / 32;
      EXPECT_EQ(task.kv_begin + task.kv_rows, document * (64 + 32) + 64 + next - document * 32);
      EXPECT_EQ(task.highest, task.kv_rows - task.q_rows);
    }
    EXPECT_EQ(next, work.q_rows);
    EXPECT_LE(work.tasks.back().kv_begin + work.tasks.back().kv_rows, work.kv_rows);
  }
}

TEST(Work, WindowBlocksComputeTheWindow) {
  const AttentionShape shape = bench_shape(16);
  const Work blocks{shape, 60, 60, window_blocks(shape, 60, 12).calls};
  EXPECT_EQ(counted(blocks), counted(window_document(shape, 60, 12)));
}

}  // namespace
}  // namespace cadenza::bench
