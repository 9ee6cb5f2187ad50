#include "data/scan_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

// Most files of a text corpus fit into one read of this size, and it stays inside a second-level
// cache.
constexpr size_t kChunkBytes = size_t{256} << 10;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

  // Bytes read, 0 at the end, -1 on failure (errno says why).
  ssize_t read_at(char* into, size_t bytes, int64_t offset) const {
    ssize_t got = 0;
    do got = ::pread(fd_, into, bytes, offset);
    while (got < 0 && errno == EINTR);
    return got;
  }

 private:
  int fd_;
};

// Finds separators in a file that passes by in chunks: after each chunk only so many bytes are kept
// as a separator could begin in.
class SeparatorSearch {
 public:
  SeparatorSearch(const std::string& separator, std::vector<int64_t>& found)
      : separator_(separator), found_(found) {}

  void feed(const char* bytes, size_t count) {
    if (separator_.empty()) return;
    window_.append(bytes, count);
    size_t from = 0;
    for (size_t hit; (hit = window_.find(separator_, from)) != std::string::npos;
         from = hit + separator_.size()) {
      found_.push_back(window_begin_ + static_cast<int64_t>(hit));
    }
    const size_t tail = std::min(window_.size(), separator_.size() - 1);
    const size_t drop = std::max(from, window_.size() - tail);
    window_.erase(0, drop);
    window_begin_ += static_cast<int64_t>(drop);
  }

 private:
  const std::string& separator_;
  std::vector<int64_t>& found_;
  std::string window_;
  int64_t window_begin_ = 0;
};

}  // namespace

FileScan scan_file(const std::string& path, const std::string& separator) {
  thread_local std::vector<char> chunk(kChunkBytes);
  FileScan scan;
  const OpenFile file(path);
  SeparatorSearch search(separator, scan.separators);
  ssize_t got = file.fd() < 0 ? -1 : 1;
  while (got > 0 && (got = file.read_at(chunk.data(), chunk.size(), scan.bytes)) > 0) {
    const size_t count = static_cast<size_t>(got);
    scan.binary = std::memchr(chunk.data(), '\0', count) != nullptr;
    if (scan.binary) return scan;
    search.feed(chunk.data(), count);
    scan.bytes += got;
  }
  scan.readable = got == 0;
  return scan;
}

std::string read_file_range(const std::string& path, int64_t begin, int64_t end,
                            int64_t expected_bytes) {
  const OpenFile file(path);
  struct stat now {};
  if (file.fd() < 0 || ::fstat(file.fd(), &now) != 0) {
    throw DataError(cat("[data] cannot read ", path, ": ", std::strerror(errno),
                        "; it was there when the run began"));
  }
  std::string bytes(static_cast<size_t>(end - begin), '\0');
  size_t done = 0;
  for (ssize_t got = 1; got > 0 && done < bytes.size();
       done += static_cast<size_t>(std::max<ssize_t>(got, 0))) {
    got =
        file.read_at(bytes.data() + done, bytes.size() - done, begin + static_cast<int64_t>(done));
    if (got < 0) throw DataError(cat("[data] reading ", path, " failed: ", std::strerror(errno)));
  }
  if (now.st_size != expected_bytes || done < bytes.size()) {
    throw DataError(cat("[data] expected ", path, " to hold ", expected_bytes,
                        " bytes as when the run began, got ", now.st_size,
                        "; leave data files alone while a run uses them"));
  }
  return bytes;
}

}  // namespace cadenza
