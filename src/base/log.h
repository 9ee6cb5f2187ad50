#pragma once

#include <string>

namespace cadenza {

/// Messages to standard error, one line each, "cadenza[rank] level: text". Standard output carries
/// results only.
void log_info(const std::string& text);
void log_warning(const std::string& text);
void log_error(const std::string& text);

/// Names this process or thread's rank in its messages; -1 (the default) prints none.
void set_log_rank(int rank);

/// Silences log_info (not warnings), as `--quiet` does.
void set_log_quiet(bool quiet);
bool log_is_quiet();

}  // namespace cadenza
