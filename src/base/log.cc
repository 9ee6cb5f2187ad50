#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace cadenza {
namespace {

thread_local int t_rank = -1;

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

void log_info(const std::string& text) { logger().info("{}{}", prefix(), text); }
void log_warning(const std::string& text) { logger().warn("{}warning: {}", prefix(), text); }
void log_error(const std::string& text) { logger().error("{}error: {}", prefix(), text); }

void set_log_rank(int rank) { t_rank = rank; }
void set_log_quiet(bool quiet) {
  logger().set_level(quiet ? spdlog::level::warn : spdlog::level::info);
}

}  // namespace cadenza
