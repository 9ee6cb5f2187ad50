#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/cat.h"
#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "model/safetensors.h"

namespace cadenza {
namespace {

int64_t elements_of(const FloatTensor& tensor) {
  int64_t elements = 1;
  for (const int64_t dim : tensor.shape) elements *= dim;
  return elements;
}

// Padded with spaces to 8 bytes, so that fp32 data is aligned in a mapping.
std::string header_text(const std::vector<FloatTensor>& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  std::set<std::string> names = {"__metadata__"};
  int64_t begin = 0;
  for (const FloatTensor& tensor : tensors) {
    CADENZA_CHECK(names.insert(tensor.name).second, "tensor ", tensor.name, " is given twice");
    const int64_t end = begin + 4 * elements_of(tensor);
    header[tensor.name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

// An open file that is complete and on the disk, or not there: removed unless committed.
class PartFile {
 public:
  explicit PartFile(const std::string& path) : path_(path), part_(cat(path, ".part.", getpid())) {
    descriptor_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail();
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!committed_) unlink(part_.c_str());
  }

  void write(const void* data, int64_t bytes) {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t written = ::write(descriptor_, next, static_cast<size_t>(bytes));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail();
      next += written;
      bytes -= written;
    }
  }

  void commit() {
    if (fsync(descriptor_) != 0) fail();
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail();
    committed_ = true;
  }

 private:
  [[noreturn]] void fail() {
    const std::string why = std::strerror(errno);
    throw DataError(
        cat("[safetensors] cannot write ", path_, ": ", why, "; check the folder and free space"));
  }

  std::string path_;
  std::string part_;
  int descriptor_ = -1;
  bool committed_ = false;
};

}  // namespace

void write_safetensors(const std::string& path, const std::vector<FloatTensor>& tensors) {
  const std::string header = header_text(tensors);
  const uint64_t length = header.size();
  PartFile file(path);
  file.write(&length, sizeof length);
  file.write(header.data(), static_cast<int64_t>(header.size()));
  for (const FloatTensor& tensor : tensors) file.write(tensor.data, 4 * elements_of(tensor));
  file.commit();
}

}  // namespace cadenza
