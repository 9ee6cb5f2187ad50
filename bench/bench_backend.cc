#include "bench/bench_backend.h"

#include "kernels/cpu/isa.h"

namespace cadenza::bench {

std::unique_ptr<Backend> backend_of(int threads, const std::string& isa) {
  return isa.empty() ? make_cpu_backend(threads) : cpu::make_backend(threads, isa);
}

std::string isa_of(const Backend& backend) {
  const std::string name = backend.name();
  return name.substr(name.find('/') + 1);
}

}  // namespace cadenza::bench
