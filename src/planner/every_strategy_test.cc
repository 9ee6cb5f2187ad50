// What holds for every strategy of the table, on random requests: the plan is exact, or the
// strategy says why it cannot plan.
#include <gtest/gtest.h>

#include "base/cat.h"
#include "core/verify_plan.h"
#include "planner/random_request_test.h"

namespace cadenza {
namespace {

const PairsCostModel kPairs;
constexpr int kBatches = 1000;

struct Outcome {
  std::string trouble;  // empty: all is well
  std::string refusal;  // why it was not applicable; empty: planned
  bool needs_capacity = false;
};

/// Tokens on the fullest rank, in the queries or not.
int64_t most_tokens(Batch batch) {
  for (Document& document : batch.documents) document.queries = {0, document.length};
  int64_t most = 0;
  for (Rank rank = 0; rank < batch.homes; ++rank) most = std::max(most, local_rows(batch, rank));
  return most;
}

std::string trouble_of(const Strategy& strategy, const PlanRequest& request, const Plan& plan) {
  if (plan.strategy != strategy.name) return cat("calls itself ", plan.strategy);
  if (plan.servers != request.cluster.servers || plan.batch.homes != request.homes)
    return cat("is for ", plan.servers, " servers, ", plan.batch.homes, " homes");
  if (plan.batch.documents.size() != request.documents.size()) return "lost a document";
  for (size_t i = 0; i < request.documents.size(); ++i) {
    Document planned = plan.batch.documents[i];
    Document asked = request.documents[i];
    if (request.homes_given && planned.shards != asked.shards) return cat("moved document ", i);
    planned.shards = asked.shards = {};
    if (planned != asked) return cat("changed document ", i);
  }
  const int64_t capacity = request.options.capacity.value_or(request.tokens_per_rank);
  if (strategy.places_tokens && most_tokens(plan.batch) > capacity)
    return cat("puts ", most_tokens(plan.batch), " tokens on a rank");
  verify_plan(plan);
  if (plan != strategy.plan(request)) return "is another plan the second time";
  return {};
}

/// The capacity that the error names is enough, and one token less is not.
std::string trouble_of_capacity(const Strategy& strategy, PlanRequest request, int64_t capacity) {
  request.options.capacity = capacity;
  verify_plan(strategy.plan(request));
  request.options.capacity = capacity - 1;
  try {
    strategy.plan(request);
  } catch (const NeedsCapacity&) {
    return {};
  }
  return cat("needs capacity ", capacity, " but plans with one less");
}

Outcome try_to_plan(const Strategy& strategy, const PlanRequest& request) try {
  try {
    return {.trouble = trouble_of(strategy, request, strategy.plan(request)), .refusal = {}};
  } catch (const NeedsCapacity& error) {
    const std::string trouble = strategy.places_tokens
                                    ? trouble_of_capacity(strategy, request, error.capacity())
                                    : "does not place tokens but needs capacity";
    return {.trouble = trouble, .refusal = error.what(), .needs_capacity = true};
  } catch (const NotApplicable& error) {
    const bool says_why = std::string(error.what()).find("expected") != std::string::npos;
    return {.trouble = says_why ? "" : "does not say what it expects", .refusal = error.what()};
  }
} catch (const std::exception& error) {
  return {.trouble = error.what(), .refusal = {}};
}

/// Leaves out documents one by one as long as there is trouble.
PlanRequest shrink(const Strategy& strategy, PlanRequest request) {
  for (size_t i = 0; i < request.documents.size();) {
    PlanRequest smaller = request;
    smaller.documents.erase(smaller.documents.begin() + static_cast<std::ptrdiff_t>(i));
    if (try_to_plan(strategy, smaller).trouble.empty()) {
      ++i;
    } else {
      request = smaller;
    }
  }
  return request;
}

/// Every mask shape in turn; homes are given in half of the requests to strategies that take them.
PlanRequest request_of_seed(uint64_t seed, const Strategy& strategy) {
  Rng rng(seed);
  const auto shape = static_cast<MaskShape>(seed % static_cast<uint64_t>(MaskShape::kCount));
  PlanRequest request = random_request(rng, shape, kPairs);
  if (!strategy.places_tokens && uniform_below(rng, 2) == 0) give_random_homes(rng, request);
  return request;
}

class EveryStrategy : public testing::TestWithParam<const char*> {};

TEST_P(EveryStrategy, PlansExactlyOrSaysWhyNot) {
  const Strategy& strategy = find_strategy(GetParam());
  int planned = 0, needed_capacity = 0, not_applicable = 0;
  for (uint64_t seed = 0; seed < kBatches; ++seed) {
    const PlanRequest request = request_of_seed(seed, strategy);
    const Outcome outcome = try_to_plan(strategy, request);
    if (!outcome.trouble.empty()) {
      const PlanRequest smallest = shrink(strategy, request);
      FAIL() << "seed " << seed << ": the plan " << try_to_plan(strategy, smallest).trouble << "\n"
             << describe(smallest);
    }
    planned += outcome.refusal.empty();
    needed_capacity += outcome.needs_capacity;
    not_applicable += !outcome.refusal.empty() && !outcome.needs_capacity;
  }
  RecordProperty("planned", planned);
  RecordProperty("needed_capacity", needed_capacity);
  RecordProperty("not_applicable", not_applicable);
  EXPECT_GT(planned, kBatches / 20) << not_applicable << " times not applicable";
}

TEST_P(EveryStrategy, KeepsToGivenHomesOrRefusesThem) {
  const Strategy& strategy = find_strategy(GetParam());
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    PlanRequest request = random_request(rng, MaskShape::kCausal, kPairs);
    give_random_homes(rng, request);
    const Outcome outcome = try_to_plan(strategy, request);
    EXPECT_EQ(outcome.trouble, "") << "seed " << seed << "\n" << describe(request);
    EXPECT_TRUE(!strategy.places_tokens || !outcome.refusal.empty());
  }
}

// Half of all real lengths are odd, and some documents are shorter than there are servers.
TEST_P(EveryStrategy, PlansOddLengthsOnAnyNumberOfServers) {
  const Strategy& strategy = find_strategy(GetParam());
  for (const int servers : {1, 2, 3, 4, 7}) {
    PlanRequest request;
    request.documents = documents_of_lengths({16385, 4097, 255, 1, 2, 3});
    request.homes = request.cluster.servers = servers;
    request.cluster.servers_per_node = 2;
    request.tokens_per_rank = 20744;  // all
    request.cost = &kPairs;
    const Outcome outcome = try_to_plan(strategy, request);
    EXPECT_EQ(outcome.trouble, "") << servers << " servers";
    EXPECT_EQ(outcome.needs_capacity, false) << outcome.refusal;
    if (!outcome.refusal.empty()) continue;
    EXPECT_EQ(count_pairs(strategy.plan(request).batch), 142669708);
  }
}

TEST_P(EveryStrategy, PlansABatchWithoutDocuments) {
  const Strategy& strategy = find_strategy(GetParam());
  PlanRequest request;
  request.homes = request.cluster.servers = 4;
  request.cluster.servers_per_node = 2;
  request.tokens_per_rank = 8;
  request.cost = &kPairs;
  const Outcome outcome = try_to_plan(strategy, request);
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_TRUE(!outcome.refusal.empty() || strategy.plan(request).tasks.empty());
}

TEST_P(EveryStrategy, GivesServersOfSpeed0NothingOrRefusesThem) {
  const Strategy& strategy = find_strategy(GetParam());
  PlanRequest request;
  request.documents = documents_of_lengths({3000, 500, 40, 1, 700});
  request.homes = request.cluster.servers = 4;
  request.cluster.servers_per_node = 2;
  request.cluster.speeds = {1, 1, 0, 1};
  request.tokens_per_rank = 4241;
  request.cost = &kPairs;
  const Outcome outcome = try_to_plan(strategy, request);
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.refusal.empty(), std::string(strategy.name) == "cad") << outcome.refusal;
  if (!outcome.refusal.empty()) return;
  for (const Task& task : strategy.plan(request).tasks) EXPECT_NE(task.server, 2);
}

// What the tests above rest on: a wrong plan is seen, and its request made small.
TEST(TryToPlan, SeesAMissingTaskAndAnOverfullRank) {
  const Strategy& home = find_strategy("home");
  const Strategy forgets{"home", "", [](const PlanRequest& request) {
                           Plan plan = find_strategy("home").plan(request);
                           if (!plan.tasks.empty()) plan.tasks.pop_back();
                           return plan;
                         }};
  const PlanRequest request = request_of_seed(0, home);
  EXPECT_EQ(try_to_plan(home, request).trouble, "");
  EXPECT_NE(try_to_plan(forgets, request).trouble, "");
  EXPECT_EQ(shrink(forgets, request).documents.size(), 1u);

  const Strategy overfills{"home", "", home.plan, /*places_tokens=*/true};
  PlanRequest narrow = request;
  narrow.options.capacity = 1;
  EXPECT_NE(try_to_plan(overfills, narrow).trouble, "");
}

std::vector<const char*> names() {
  std::vector<const char*> names;
  for (const Strategy& strategy : all_strategies()) names.push_back(strategy.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(OfTheTable, EveryStrategy, testing::ValuesIn(names()),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace cadenza
