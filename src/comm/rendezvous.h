#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace cadenza {

/// Where a rank stands among its peers and where they meet.
struct Rendezvous {
  Rank rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;  // ranks on this host: threads a rank = cores / local_size
  std::string host = "127.0.0.1";
  int port = 0;
  bool store_is_served =
      false;             // someone else (torchrun's agent) holds the store: every rank is a client
  std::string launcher;  // "cadenza", "torchrun", "mpirun", "srun"
};

/// Reads what a launcher left in the environment: our own or torchrun's (RANK, WORLD_SIZE, ...),
/// Open MPI's (OMPI_COMM_WORLD_RANK, ...), Slurm's (SLURM_PROCID, ...). Nothing when no launcher is
/// there; ConfigError naming the variable when they contradict each other.
std::optional<Rendezvous> rendezvous_from_environment();

}  // namespace cadenza
