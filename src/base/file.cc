#include "base/file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {

std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    throw DataError(cat("[file] expected a file, got the folder ", path));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) throw DataError(cat("[file] cannot read ", path, ": ", std::strerror(errno)));
  std::ostringstream content;
  content << in.rdbuf();
  if (in.bad()) throw DataError(cat("[file] reading ", path, " failed: ", std::strerror(errno)));
  return content.str();
}

void write_file(const std::string& path, const std::string& content) {
  const std::string part = cat(path, ".part.", ::getpid());
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  std::error_code failed;
  if (out) std::filesystem::rename(part, path, failed);
  if (!out || failed) {
    const std::string why = failed ? failed.message() : std::strerror(errno);
    std::filesystem::remove(part, failed);
    throw DataError(
        cat("[file] cannot write ", path, ": ", why, "; check the folder and free space"));
  }
}

}  // namespace cadenza
