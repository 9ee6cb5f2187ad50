#include "core/verify_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/cat.h"
#include "base/error.h"
#include "base/rng.h"
#include "testing/mask_definition.h"
#include "testing/random_batch.h"

namespace cadenza {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int64_t kHeads = 3;

Plan causal_plan(int64_t length, std::vector<Task> tasks) {
  Plan plan;
  plan.servers = 2;
  plan.batch = fill_sequentially(documents_of_lengths({length}), 1, length);
  plan.tasks = std::move(tasks);
  return plan;
}

Task task_of(Range q, Range kv, Band band = Band::causal()) {
  Task task;
  task.piece = {q, kv, band};
  return task;
}

void expect_refused(const Plan& plan, const std::string& text) {
  EXPECT_THAT([&] { verify_plan(plan); }, ThrowsMessage<PlanError>(HasSubstr(text)));
}

// ---- brute force ----

bool task_holds(const Task& task, int64_t q, int64_t k, int64_t head) {
  const Piece& piece = task.piece;
  return piece.q.contains(q) && piece.kv.contains(k) && k - q >= piece.band.lowest &&
         k - q <= piece.band.highest && (task.heads.empty() || task.heads.contains(head));
}

bool allows(const Document& document, int64_t q, int64_t k) {
  return document.queries.contains(q) && mask_allows(document.mask, document.length, q, k);
}

bool is_good_task(const Task& task, const Document& document) {
  return document.queries.contains(task.piece.q) &&
         Range{0, document.length}.contains(task.piece.kv) && count_pairs(task.piece) > 0;
}

bool is_good_document(const Plan& plan, int index) {
  const Document& document = plan.batch.documents[static_cast<size_t>(index)];
  const int64_t heads = std::max<int64_t>(named_heads(plan), 1);
  std::map<std::array<int64_t, 3>, int> computed;
  for (const Task& task : plan.tasks) {
    if (task.document != index) continue;
    if (!is_good_task(task, document)) return false;
    for (int64_t q = task.piece.q.begin; q < task.piece.q.end; ++q) {
      for (int64_t k = task.piece.kv.begin; k < task.piece.kv.end; ++k) {
        for (int64_t h = 0; h < heads; ++h) {
          if (task_holds(task, q, k, h) && ++computed[{q, k, h}] > 1) return false;
          if (task_holds(task, q, k, h) && !allows(document, q, k)) return false;
        }
      }
    }
  }
  int64_t allowed = 0;
  for (int64_t q = 0; q < document.length; ++q) {
    for (int64_t k = 0; k < document.length; ++k) allowed += allows(document, q, k) ? heads : 0;
  }
  return static_cast<int64_t>(computed.size()) == allowed;
}

std::set<int> bad_documents(const Plan& plan) {
  std::set<int> bad;
  for (int i = 0; i < static_cast<int>(plan.batch.documents.size()); ++i) {
    if (!is_good_document(plan, i)) bad.insert(i);
  }
  return bad;
}

// ---- random correct plans ----

bool one_in(Rng& rng, uint64_t n) { return uniform_below(rng, n) == 0; }

// A few disjoint pieces with gaps: cells of a random grid, each with a random band or left out.
Mask random_pieces_mask(Rng& rng, int64_t length) {
  Mask mask;
  mask.kind = Mask::Kind::kPieces;
  const int64_t q_cut = uniform_between(rng, 0, length);
  const int64_t k_cut = uniform_between(rng, 0, length);
  for (const Range q : {Range{0, q_cut}, Range{q_cut, length}}) {
    for (const Range kv : {Range{0, k_cut}, Range{k_cut, length}}) {
      if (one_in(rng, 4)) continue;
      const int64_t lowest = uniform_between(rng, -length, length);
      mask.explicit_pieces.push_back({q, kv, {lowest, uniform_between(rng, lowest, length)}});
    }
  }
  shuffle(mask.explicit_pieces, rng);
  return mask;
}

// Cuts one task in two by query, key, difference or head. One half may be without pairs.
std::pair<Task, Task> random_cut(Rng& rng, const Task& task) {
  std::pair<Task, Task> halves{task, task};
  auto& [a, b] = halves;
  const Piece& piece = task.piece;
  switch (uniform_below(rng, 4)) {
    case 0:
      a.piece.q.end = b.piece.q.begin = uniform_between(rng, piece.q.begin, piece.q.end);
      break;
    case 1:
      a.piece.kv.end = b.piece.kv.begin = uniform_between(rng, piece.kv.begin, piece.kv.end);
      break;
    case 2:
      a.piece.band.highest =
          uniform_between(rng, piece.kv.begin - piece.q.end, piece.kv.end - piece.q.begin);
      a.piece.band.highest = std::min(a.piece.band.highest, piece.band.highest);
      b.piece.band.lowest = std::max(piece.band.lowest, a.piece.band.highest + 1);
      break;
    default: {
      const Range heads = task.heads.empty() ? Range{0, kHeads} : task.heads;
      const int64_t cut = uniform_between(rng, heads.begin, heads.end);
      if (cut == heads.begin || cut == heads.end) {
        b.piece.q.end = b.piece.q.begin;  // nothing left for b
      } else {
        a.heads = {heads.begin, cut};
        b.heads = {cut, heads.end};
      }
    }
  }
  return halves;
}

Plan random_plan(Rng& rng) {
  Plan plan;
  plan.servers = 3;
  plan.batch = random_batch(rng, {.ranks = 3, .max_documents = 3, .max_length = 12, .masks = true});
  for (size_t i = 0; i < plan.batch.documents.size(); ++i) {
    Document& document = plan.batch.documents[i];
    if (one_in(rng, 5)) document.mask = random_pieces_mask(rng, document.length);
    if (one_in(rng, 4)) {
      document.queries.begin = uniform_between(rng, 0, document.length);
      document.queries.end = uniform_between(rng, document.queries.begin, document.length);
    }
    for (const Piece& piece : mask_pieces(document.mask, document.length)) {
      Task task = task_of(intersect(piece.q, document.queries), piece.kv, piece.band);
      task.document = static_cast<int>(i);
      plan.tasks.push_back(task);
    }
  }
  for (int64_t cuts = uniform_between(rng, 0, 12); cuts > 0 && !plan.tasks.empty(); --cuts) {
    Task& task = plan.tasks[uniform_below(rng, plan.tasks.size())];
    const auto [a, b] = random_cut(rng, task);
    task = a;
    plan.tasks.push_back(b);
  }
  std::erase_if(plan.tasks, [](const Task& task) { return count_pairs(task.piece) == 0; });
  shuffle(plan.tasks, rng);
  for (Task& task : plan.tasks) task.server = static_cast<Rank>(uniform_below(rng, 3));
  return plan;
}

void shift(Range& range, int64_t by) { range = {range.begin + by, range.end + by}; }

// Changes one task. The result is nearly always wrong; the brute force tells.
void damage(Rng& rng, Plan& plan) {
  if (plan.tasks.empty()) return;
  const size_t id = uniform_below(rng, plan.tasks.size());
  Task& task = plan.tasks[id];
  const int64_t step = one_in(rng, 2) ? 1 : -1;
  switch (uniform_below(rng, 8)) {
    case 0:
      plan.tasks.erase(plan.tasks.begin() + static_cast<std::ptrdiff_t>(id));
      return;
    case 1:
      plan.tasks.push_back(Task(task));
      return;
    case 2:
      shift(task.piece.q, step);
      return;
    case 3:
      shift(task.piece.kv, step);
      return;
    case 4:
      task.piece.band.highest += 1;
      return;
    case 5:
      task.piece.band.lowest -= 1;
      return;
    case 6:
      task.piece.kv.end += step;
      return;
    default:
      task.heads = {step == 1 ? 0 : 1, kHeads - (step == 1 ? 1 : 0)};
  }
}

// ---- whether a refusal's claim is true ----

// The number that follows the first `words`; -1 where they are not in the message.
int64_t number_after(const std::string& message, const std::string& words) {
  const size_t at = message.find(words);
  return at == std::string::npos ? -1 : std::stoll(message.substr(at + words.size()));
}

void expect_overlap(const Plan& plan, const std::string& message, int64_t head) {
  const int64_t first = number_after(message, "tasks ");
  const int64_t second = number_after(message, " and ");
  EXPECT_NE(first, second);
  for (const int64_t id : {first, second}) {
    EXPECT_TRUE(task_holds(plan.tasks.at(static_cast<size_t>(id)), number_after(message, "query "),
                           number_after(message, "key "), head));
  }
}

void expect_forbidden(const Plan& plan, const Document& document, const std::string& message) {
  const Task& task = plan.tasks.at(static_cast<size_t>(number_after(message, ": task ")));
  const int64_t q = number_after(message, "query ");
  const int64_t k = number_after(message, "key ");
  EXPECT_TRUE(task_holds(task, q, k, task.heads.begin));
  EXPECT_FALSE(allows(document, q, k));
}

void expect_missing(const Plan& plan, int index, const std::string& message, int64_t head) {
  const Document& document = plan.batch.documents.at(static_cast<size_t>(index));
  const int64_t q = number_after(message, "query ");
  const int64_t begin = number_after(message, "keys [");
  const int64_t end = number_after(message, cat("keys [", begin, ", "));
  EXPECT_LT(begin, end);
  for (int64_t k = begin; k < end; ++k) {
    EXPECT_TRUE(allows(document, q, k));
    for (const Task& task : plan.tasks) {
      EXPECT_FALSE(task.document == index && task_holds(task, q, k, head));
    }
  }
}

void expect_true_claim(const Plan& plan, const std::string& message) {
  const auto index = static_cast<int>(number_after(message, "[verify] document "));
  EXPECT_TRUE(bad_documents(plan).contains(index));
  const int64_t head = std::max<int64_t>(0, number_after(message, "query heads ["));
  const auto says = [&](const char* words) { return message.find(words) != std::string::npos; };
  if (says(" both compute ")) {
    expect_overlap(plan, message, head);
  } else if (says("the mask forbids")) {
    expect_forbidden(plan, plan.batch.documents.at(static_cast<size_t>(index)), message);
  } else if (says("in no task")) {
    expect_missing(plan, index, message, head);
  } else {
    EXPECT_TRUE(says("holds no pair") || says("inside ["));
  }
}

TEST(VerifyPlan, AcceptsExactlyWhatBruteForceAccepts) {
  const uint64_t seed = 911;
  Rng rng(seed);
  int refused = 0;
  for (int round = 0; round < 1500; ++round) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " round " << round);
    Plan plan = random_plan(rng);
    ASSERT_NO_THROW(verify_plan(plan));
    ASSERT_TRUE(bad_documents(plan).empty());
    damage(rng, plan);
    const bool good = bad_documents(plan).empty();
    try {
      verify_plan(plan);
      ASSERT_TRUE(good);
    } catch (const PlanError& error) {
      SCOPED_TRACE(error.what());
      ASSERT_FALSE(good);
      ++refused;
      expect_true_claim(plan, error.what());
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(VerifyPlan, NamesTheFirstUncoveredKeys) {
  expect_refused(causal_plan(256, {task_of({0, 128}, {0, 128}), task_of({128, 256}, {64, 256})}),
                 "[verify] document 0: query 128, keys [0, 64) are in no task");
  expect_refused(causal_plan(4, {}), "document 0: query 0, keys [0, 1) are in no task");
}

TEST(VerifyPlan, NamesTwoTasksOfOnePair) {
  expect_refused(causal_plan(256, {task_of({0, 256}, {0, 128}), task_of({120, 256}, {100, 256})}),
                 "document 0: tasks 0 and 1 both compute query 120, key 100");
}

TEST(VerifyPlan, NamesAForbiddenPair) {
  expect_refused(causal_plan(8, {task_of({0, 8}, {0, 8}, {Band::kUnboundedBelow, 1})}),
                 "document 0: task 0 computes query 0, key 1, which the mask forbids");
}

TEST(VerifyPlan, NamesHeadsThatNobodyComputes) {
  Plan plan = causal_plan(8, {task_of({0, 8}, {0, 8}), task_of({0, 8}, {0, 8})});
  plan.tasks[0].heads = {0, 2};
  plan.tasks[1].heads = {3, 4};
  expect_refused(plan, "query 0, keys [0, 1), query heads [2, 3) are in no task");
  plan.tasks[1].heads = {2, 4};
  EXPECT_NO_THROW(verify_plan(plan));
}

// All documents of a plan have the same heads: a document may not stop below another one's last
// head.
TEST(VerifyPlan, HeadsOfOneDocumentBindTheOthers) {
  Plan plan = causal_plan(8, {task_of({0, 4}, {0, 4}), task_of({0, 4}, {0, 4}),
                              task_of({0, 4}, {0, 4}), task_of({0, 4}, {0, 4})});
  plan.batch = fill_sequentially(documents_of_lengths({4, 4}), 1, 8);
  plan.tasks[0].heads = plan.tasks[2].heads = {0, 2};
  plan.tasks[1].heads = {2, 4};
  plan.tasks[3].heads = {2, 3};
  plan.tasks[2].document = plan.tasks[3].document = 1;
  expect_refused(plan, "document 1: query 0, keys [0, 1), query heads [3, 4) are in no task");
}

TEST(VerifyPlan, ATaskMaySpanPiecesOfTheMask) {
  Plan plan = causal_plan(9, {task_of({0, 9}, {0, 9}, {0, 0})});
  plan.batch.documents[0].mask.kind = Mask::Kind::kChunked;
  plan.batch.documents[0].mask.chunk = 4;
  for (const Range chunk : {Range{0, 4}, Range{4, 8}}) {
    plan.tasks.push_back(task_of(chunk, chunk, {Band::kUnboundedBelow, -1}));
  }
  EXPECT_NO_THROW(verify_plan(plan));
}

TEST(VerifyPlan, ProvesDocumentsOfTwoToThe31) {
  const int64_t n = kMaxTokens;
  Plan plan = causal_plan(n, {task_of({0, n}, {0, n / 2}), task_of({n / 2, n}, {n / 2, n})});
  EXPECT_NO_THROW(verify_plan(plan));
  plan.tasks[1].piece.q.begin += 1;
  expect_refused(plan, cat("query ", n / 2, ", keys [", n / 2, ", ", n / 2 + 1, ")"));
}

TEST(VerifyPlan, RefusesNumbersWithoutSense) {
  const Plan good = causal_plan(8, {task_of({0, 8}, {0, 8})});
  ASSERT_NO_THROW(verify_plan(good));
  const auto refused = [&](auto change, const char* text) {
    Plan plan = good;
    change(plan);
    expect_refused(plan, text);
  };
  refused([](Plan& p) { p.tasks[0].server = 2; }, "task 0 on a server from 0 to 1, got 2");
  refused([](Plan& p) { p.tasks[0].server = -1; }, "got -1");
  refused([](Plan& p) { p.tasks[0].document = 1; }, "task 0 of a document from 0 to 0, got 1");
  refused([](Plan& p) { p.tasks[0].piece.q.end = 9; }, "queries inside [0, 8), got [0, 9)");
  refused([](Plan& p) { p.tasks[0].piece.kv.end = 9; }, "keys inside [0, 8), got [0, 9)");
  refused([](Plan& p) { p.batch.documents[0].queries = {0, 4}; }, "queries inside [0, 4)");
  refused([](Plan& p) { p.tasks[0].heads = {3, 1}; }, "head range of task 0, got [3, 1)");
  refused([](Plan& p) { p.tasks[0].round = -1; }, "round >= 0, got -1");
  refused([](Plan& p) { p.tasks[0].via = 1; }, "got via 1");
  refused(
      [](Plan& p) {
        p.tasks[0].via = 7;
        p.tasks[0].round = 1;
      },
      "got via 7");
  refused(
      [](Plan& p) {
        p.tasks[0].via = 0;
        p.tasks[0].round = 1;
      },
      "got via 0");
  refused([](Plan& p) { p.batch.homes = 3; }, "got 2 servers and 3 homes");
  refused([](Plan& p) { p.batch.documents[0].shards[0].rows.end = 7; }, "rows [7, 8) without");
  refused([](Plan& p) { p.batch.documents[0].shards[0].home = 1; }, "home from 0 to 0, got 1");
  refused([](Plan& p) { p.batch.documents[0].mask.kind = Mask::Kind::kWindow; }, "window >= 1");
  refused([](Plan& p) { p.tasks.push_back(task_of({0, 4}, {4, 8})); }, "task 1 holds no pair");
}

TEST(VerifyPlan, KeepsThePlanAndItsHash) {
  const Plan plan = causal_plan(8, {task_of({0, 8}, {0, 8})});
  const VerifiedPlan verified = verify_plan(plan);
  EXPECT_EQ(verified.plan(), plan);
  EXPECT_EQ(verified.hash(), plan_hash(plan));
}

}  // namespace
}  // namespace cadenza
