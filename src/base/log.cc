#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

#include "base/progress.h"

namespace cadenza {
namespace {

thread_local int t_rank = -1;
std::atomic<bool> g_quiet{false};

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>(
        "cadenza", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%v");
    return made;
  }();
  return *instance;
}

std::string prefix() {
  return t_rank < 0 ? "cadenza: " : "cadenza[" + std::to_string(t_rank) + "]: ";
}

}  // namespace

void log_info(const std::string& text) {
  if (log_is_quiet()) return;
  const ProgressHidden hidden;
  logger().info("{}{}", prefix(), text);
}

void log_warning(const std::string& text) {
  const ProgressHidden hidden;
  logger().warn("{}warning: {}", prefix(), text);
}

void log_error(const std::string& text) {
  const ProgressHidden hidden;
  logger().error("{}error: {}", prefix(), text);
}

void set_log_rank(int rank) { t_rank = rank; }
void set_log_quiet(bool quiet) { g_quiet = quiet; }
bool log_is_quiet() { return g_quiet; }

}  // namespace cadenza
