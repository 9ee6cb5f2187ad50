#include "comm/rendezvous.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/cat.h"
#include "base/error.h"

// Which launcher is there is told by its variables for rank and size. RANK and WORLD_SIZE come
// first: whoever sets them means them, also inside an allocation of another launcher. Slurm comes
// last and is believed only where `srun` starts more than one task: an interactive shell in an
// allocation has SLURM_* variables, too, and a plain run there is a single process.
namespace cadenza {
namespace {

/// Port for mpirun and srun where MASTER_PORT is not set; torchrun's default.
constexpr int kDefaultPort = 29500;
constexpr int kMaxPort = 65535;

std::optional<std::string> read(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

/// Whole number in [lowest, highest], where the variable is set.
std::optional<int> read_int(const char* name, int lowest, int highest) {
  const auto text = read(name);
  if (!text) return std::nullopt;
  int value = -1;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || value < lowest || value > highest) {
    throw ConfigError(cat("[comm/rendezvous] expected ", name, " to be a whole number from ",
                          lowest, " to ", highest, ", got '", *text,
                          "'; set it right or unset it"));
  }
  return value;
}

/// Far above any real number of ranks: a larger one is a slip of the pen.
constexpr int kMaxRanks = 1 << 20;

std::optional<int> read_rank(const char* name) { return read_int(name, 0, kMaxRanks); }
std::optional<int> read_size(const char* name) { return read_int(name, 1, kMaxRanks); }

struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};

constexpr Names kTorchrun{"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr Names kOpenMpi{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names kSlurm{"srun", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID",
                       "SLURM_NTASKS_PER_NODE"};

void require_below(const char* name, int value, const char* size_name, int size) {
  if (value < size) return;
  throw ConfigError(cat("[comm/rendezvous] expected ", name, " below ", size_name, " = ", size,
                        ", got ", value, "; start the ranks with one launcher only"));
}

[[noreturn]] void fail_half_set(const char* is_set, const char* is_missing) {
  throw ConfigError(cat("[comm/rendezvous] expected ", is_missing, " beside ", is_set, ", got ",
                        is_set, " alone; set both or neither"));
}

/// Rank and size, both or neither.
std::optional<Rendezvous> read_rank_and_size(const Names& names) {
  const auto rank = read_rank(names.rank);
  const auto size = read_size(names.size);
  if (!rank && !size) return std::nullopt;
  if (!rank) fail_half_set(names.size, names.rank);
  if (!size) fail_half_set(names.rank, names.size);
  require_below(names.rank, *rank, names.size, *size);
  Rendezvous place;
  place.launcher = names.launcher;
  place.rank = *rank;
  place.size = *size;
  return place;
}

/// The local two, where not set, as if all ranks were on this host.
void read_local_place(const Names& names, Rendezvous& place) {
  const auto local_rank = read_rank(names.local_rank);
  const auto local_size = read_size(names.local_size);
  if (local_size && !local_rank) fail_half_set(names.local_size, names.local_rank);
  place.local_rank = local_rank.value_or(place.rank);
  place.local_size = local_size.value_or(place.size);
  require_below(names.local_rank, place.local_rank, names.local_size, place.local_size);
  if (place.local_size > place.size) {
    throw ConfigError(cat("[comm/rendezvous] expected ", names.local_size, " up to ", names.size,
                          " = ", place.size, ", got ", place.local_size, "; set it right"));
  }
}

/// Where they meet. Without MASTER_ADDR only ranks that are all on this host can find each other.
void read_meeting_point(Rendezvous& place) {
  const auto host = read("MASTER_ADDR");
  const auto port = read_int("MASTER_PORT", 1, kMaxPort);
  if (!host && place.local_size < place.size) {
    throw ConfigError(cat("[comm/rendezvous] expected MASTER_ADDR for ", place.size, " ranks, ",
                          place.local_size, " of them on this host, got none; set it to the host ",
                          "of rank 0"));
  }
  if (!port && place.launcher == kTorchrun.launcher && place.size > 1) {
    throw ConfigError(
        "[comm/rendezvous] expected MASTER_PORT beside RANK and WORLD_SIZE, got none; set it to a "
        "free port of rank 0's host");
  }
  place.host = host.value_or("127.0.0.1");
  place.port = port.value_or(kDefaultPort);
}

std::optional<Rendezvous> read_torchrun() {
  auto place = read_rank_and_size(kTorchrun);
  if (!place) return std::nullopt;
  read_local_place(kTorchrun, *place);
  if (read("CADENZA_LAUNCHER")) place->launcher = "cadenza";
  place->store_is_served = read("TORCHELASTIC_USE_AGENT_STORE") == "True";
  return place;
}

std::optional<Rendezvous> read_open_mpi() {
  auto place = read_rank_and_size(kOpenMpi);
  if (place) read_local_place(kOpenMpi, *place);
  return place;
}

/// What srun did on this host, at most the whole: SLURM_STEP_TASKS_PER_NODE is "4" or "2(x3),1" and
/// its first number stands for all hosts, good enough to share out cores.
int slurm_local_size(int size) {
  if (const auto asked = read_size(kSlurm.local_size)) return std::min(*asked, size);
  const auto per_node = read("SLURM_STEP_TASKS_PER_NODE");
  const int first = per_node ? std::atoi(per_node->c_str()) : size;
  return std::clamp(first, 1, size);
}

/// False in a batch script (a job without a step) and in an interactive shell (a step of one task).
bool srun_started_several() {
  if (!read("SLURM_PROCID") || !read("SLURM_NTASKS") || read("SLURM_NTASKS") == "1") return false;
  if (read("SLURM_STEP_NUM_TASKS") == "1") return false;
  return !read("SLURM_JOB_ID") || read("SLURM_STEP_ID") || read("SLURM_STEPID");
}

std::optional<Rendezvous> read_slurm() {
  if (!srun_started_several()) return std::nullopt;
  auto place = read_rank_and_size(kSlurm);
  place->local_size = slurm_local_size(place->size);
  place->local_rank = read_rank(kSlurm.local_rank).value_or(place->rank % place->local_size);
  place->local_size = std::max(place->local_size, place->local_rank + 1);
  return place;
}

/// RANK and WORLD_SIZE that somebody exported and forgot would make every rank of mpirun or srun
/// the same one. torchrun and our own launcher may well run inside those: they know what they do.
void require_same_place(const Rendezvous& place, const std::optional<Rendezvous>& other,
                        const Names& names) {
  if (!other || (place.rank == other->rank && place.size == other->size)) return;
  throw ConfigError(cat("[comm/rendezvous] expected RANK and WORLD_SIZE to agree with ", names.rank,
                        " and ", names.size, ", got ", place.rank, " of ", place.size, " and ",
                        other->rank, " of ", other->size, "; unset RANK and WORLD_SIZE"));
}

std::optional<Rendezvous> read_place() {
  if (auto place = read_torchrun()) {
    if (!read("CADENZA_LAUNCHER") && !read("TORCHELASTIC_RUN_ID")) {
      require_same_place(*place, read_open_mpi(), kOpenMpi);
      require_same_place(*place, read_slurm(), kSlurm);
    }
    return place;
  }
  if (auto place = read_open_mpi()) return place;
  return read_slurm();
}

}  // namespace

std::optional<Rendezvous> rendezvous_from_environment() {
  auto place = read_place();
  if (place) read_meeting_point(*place);
  return place;
}

}  // namespace cadenza
