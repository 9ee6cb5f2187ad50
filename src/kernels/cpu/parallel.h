#pragma once

#include "kernels/attention.h"

namespace cadenza {

/// Runs bodies on an OpenMP team of `threads` threads of the calling thread, handing out one index
/// at a time. The first exception of a body is thrown again in the caller, after all bodies that
/// had begun have ended.
ParallelFor openmp_parallel(int threads);

}  // namespace cadenza
