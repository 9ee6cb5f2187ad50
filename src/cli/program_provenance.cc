#include "cli/verb.h"

namespace cadenza {

Provenance program_provenance() {
  const std::string torch = CADENZA_TORCH_VERSION;
  return current_provenance(CADENZA_VERSION, {{"torch", torch.empty() ? "none" : torch}});
}

}  // namespace cadenza
