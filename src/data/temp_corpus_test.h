#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cadenza {

/// A fresh folder of text files that goes away with its owner.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "cadenza-data-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  /// Makes the folders on the way too.
  std::string write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(of(name)).parent_path());
    std::ofstream(of(name), std::ios::binary) << content;
    return of(name);
  }
  std::string of(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace cadenza
