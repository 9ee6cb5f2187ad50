#pragma once

#include <stdexcept>
#include <string>

namespace cadenza {

/// Exit codes of the command line; an error's type says whose fault it is.
enum class ExitCode : int {
  kOk = 0,
  kInternal = 1,       // our bug, or the machine's (no memory, no disk)
  kUsage = 2,          // command line, configuration or input files
  kPlanRefused = 3,    // a plan that does not compute the batch exactly
  kPeerLost = 4,       // a rank died or was late
  kNumeric = 5,        // a loss or gradient that is not finite
  kInterrupted = 130,  // Ctrl-C
};

/// Base of every exception thrown on purpose. A message names the place in brackets, what was
/// expected, what came and what to do: "[planner/cad] expected servers >= 1, got 0; give
/// --servers".
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The user's configuration or command line cannot work.
struct ConfigError : Error {
  explicit ConfigError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// A file (documents, checkpoint, batch, plan) is missing, malformed or of the wrong kind.
struct DataError : Error {
  explicit DataError(const std::string& message) : Error(ExitCode::kUsage, message) {}
};

/// A plan does not cover the batch exactly, or does not fit. Ours, unless the plan came from a
/// file.
struct PlanError : Error {
  explicit PlanError(const std::string& message) : Error(ExitCode::kPlanRefused, message) {}
};

/// A peer died, left or missed a deadline. `peer` is its rank, -1 where it is not known.
class PeerError : public Error {
 public:
  PeerError(int peer, const std::string& message)
      : Error(ExitCode::kPeerLost, message), peer_(peer) {}
  int peer() const { return peer_; }

 private:
  int peer_;
};

/// A loss or gradient is not finite.
struct NumericError : Error {
  explicit NumericError(const std::string& message) : Error(ExitCode::kNumeric, message) {}
};

/// The user asked to stop (Ctrl-C, SIGTERM).
struct Interrupted : Error {
  explicit Interrupted(const std::string& message) : Error(ExitCode::kInterrupted, message) {}
};

/// A broken invariant: our bug.
struct InternalError : Error {
  explicit InternalError(const std::string& message) : Error(ExitCode::kInternal, message) {}
};

}  // namespace cadenza
