// Plans documents of the lengths on the command line: consumer SERVERS TOKENS_PER_SERVER LENGTH...
#include <cstdlib>
#include <iostream>

#include "core/traffic.h"
#include "core/verify_plan.h"
#include "planner/balance.h"
#include "planner/strategy.h"

int main(int argc, char** argv) {
  using namespace cadenza;
  std::vector<int64_t> lengths;
  for (int i = 3; i < argc; ++i) lengths.push_back(std::atoll(argv[i]));
  const PairsCostModel cost;
  try {
    const int servers = argc > 1 ? std::atoi(argv[1]) : 0;
    const PlanRequest request{.documents = documents_of_lengths(lengths),
                              .homes = servers,
                              .tokens_per_rank = argc > 2 ? std::atoll(argv[2]) : 0,
                              .cluster = {.servers = servers},
                              .cost = &cost};
    const VerifiedPlan plan = verify_plan(find_strategy("cad").plan(request));
    std::cout << plan.plan().tasks.size() << " tasks, max/mean "
              << balance_of(plan.plan(), request.cluster, cost).max_over_mean << ", "
              << forward_traffic(plan.plan(), request.shape).total() / 1e6 << " MB\n";
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
