#include "comm/wait_report.h"

#include <chrono>
#include <iomanip>

#include "base/cat.h"

namespace cadenza {
namespace {

std::string message_text(const WaitReport& report) {
  return cat(report.is_send ? "to send " : "to receive ", report.bytes, " bytes (tag ", report.tag,
             ") ", report.is_send ? "to" : "from", " rank ", report.peer);
}

}  // namespace

std::string wait_text(const WaitReport& report, Deadline::Clock::time_point since,
                      const std::string& why) {
  const double seconds = std::chrono::duration<double>(Deadline::Clock::now() - since).count();
  return cat("[comm/", report.transport, "] rank ", report.rank, " waited ", std::fixed,
             std::setprecision(1), seconds, " s ", message_text(report), ": ", why);
}

PeerError deadline_error(const WaitReport& report, Deadline::Clock::time_point since) {
  return PeerError(report.peer, wait_text(report, since,
                                          cat("the deadline passed; see whether rank ", report.peer,
                                              " is stopped, slow or was killed")));
}

PeerError left_error(const WaitReport& report, Deadline::Clock::time_point since,
                     const std::string& reason) {
  const std::string why = reason.empty() ? "it ended before this message" : reason;
  return PeerError(report.peer,
                   wait_text(report, since, cat("rank ", report.peer, " left: ", why)));
}

InternalError size_error(const WaitReport& report, size_t other_bytes) {
  return InternalError(cat("[comm/", report.transport, "] rank ", report.rank, " expected ",
                           message_text(report), ", but rank ", report.peer, " posted ",
                           other_bytes, " bytes; the two ranks' programs disagree"));
}

}  // namespace cadenza
