#include "report/provenance.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

namespace cadenza {
namespace {

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

/// The value of the first "key : value" line of /proc/cpuinfo; empty if there is none.
std::string cpuinfo_value(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (line.rfind(key, 0) == 0 && colon != std::string::npos) {
      return colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    }
  }
  return "";
}

int allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

std::string instruction_set_of(const std::string& cpu_flags) {
  std::istringstream words(cpu_flags);
  const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
  const auto has = [&](const char* flag) {
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
  };
  if (has("amx_tile") && has("amx_bf16")) return "amx";
  if (has("avx512_bf16")) return "avx512_bf16";
  if (has("avx512f")) return "avx512";
  if (has("avx2")) return "avx2";
  return "portable";
}

Provenance current_provenance(const std::string& version,
                              std::vector<std::pair<std::string, std::string>> libraries) {
#ifdef __OPTIMIZE__
  const char* const build_type = "optimised";
#else
  const char* const build_type = "debug";
#endif
  return {.command_line = command_line(),
          .version = version,
          .build_type = build_type,
          .compiler = __VERSION__,
          .processor = cpuinfo_value("model name"),
          .instruction_set = instruction_set_of(cpuinfo_value("flags")),
          .threads = allowed_processors(),
          .host = host_name(),
          .date = utc_now(),
          .libraries = std::move(libraries)};
}

Json provenance_to_json(const Provenance& p) {
  Json libraries = Json::object();
  for (const auto& [name, version] : p.libraries) libraries[name] = version;
  return {{"command_line", p.command_line},
          {"version", p.version},
          {"build_type", p.build_type},
          {"compiler", p.compiler},
          {"processor", p.processor},
          {"instruction_set", p.instruction_set},
          {"threads", p.threads},
          {"host", p.host},
          {"date", p.date},
          {"libraries", libraries}};
}

}  // namespace cadenza
