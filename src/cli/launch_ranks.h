#pragma once

#include <string>
#include <vector>

namespace cadenza {

/// Starts `ranks` copies of this program with `command` as their arguments and a rank's environment
/// (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT), and waits for them.
/// Returns 0 when all ended well.
///
/// When one fails, the others get a few seconds (never more than deadline_seconds) to end by
/// themselves, then SIGTERM, then SIGKILL; one line on standard error names the rank that failed
/// first and how, and its exit code is returned (kPeerLost for one that was killed). Ctrl-C and
/// SIGTERM are passed on once. No rank outlives this process.
int launch_ranks(int ranks, const std::vector<std::string>& command, double deadline_seconds);

/// In a rank started by launch_ranks: hands an error to the launcher, which prints one line for all
/// ranks. `peer` is the rank that a PeerError names, else -1. False: no launcher listens, print it
/// here.
bool report_error_to_launcher(int exit_code, int peer, const std::string& message);

}  // namespace cadenza
