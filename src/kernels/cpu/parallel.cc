#include "kernels/cpu/parallel.h"

#include <exception>

namespace cadenza {
namespace {

/// An exception must not leave an OpenMP region, so it is carried across.
void run_team(int threads, int64_t count, const std::function<void(int64_t)>& body) {
  std::exception_ptr failure;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t i = 0; i < count; ++i) {
    try {
      body(i);
    } catch (...) {
#pragma omp critical(cadenza_parallel_failure)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

ParallelFor openmp_parallel(int threads) {
  return [threads](int64_t count, const std::function<void(int64_t)>& body) {
    if (threads == 1 || count <= 1) {
      for (int64_t i = 0; i < count; ++i) body(i);
    } else {
      run_team(threads, count, body);
    }
  };
}

}  // namespace cadenza
