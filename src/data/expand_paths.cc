#include "data/expand_paths.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <unordered_map>

#include "base/cat.h"
#include "base/error.h"

namespace cadenza {
namespace {

namespace fs = std::filesystem;
using Parts = std::span<const std::string>;

// A pattern is cut into components. Those before the first wildcard are its root: one folder,
// opened by name and through links, as the user wrote it. Below the root the rest is matched
// component by component, "**" standing for any number of folders; a folder given by name is its
// root followed by "**". Below a root no link to a folder is followed, so that a loop of links
// cannot hang the walk. Names that begin with a dot are names like all others.

bool has_wildcard(const std::string& text) { return text.find_first_of("*?") != std::string::npos; }

struct Listing {
  std::vector<std::string> files, folders;  // names, sorted
};

// Counts what it cannot list.
Listing list_folder(const fs::path& folder, int64_t& unreadable) {
  Listing listing;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code unknown;
    const bool link = it->is_symlink(unknown);
    if (it->is_directory(unknown)) {
      if (!link) listing.folders.push_back(it->path().filename().string());
    } else {
      listing.files.push_back(it->path().filename().string());
    }
  }
  if (failed) ++unreadable;
  std::sort(listing.files.begin(), listing.files.end());
  std::sort(listing.folders.begin(), listing.folders.end());
  return listing;
}

// Appends the files below `folder` that match `parts`, in paths relative to the root. Two "**" can
// reach a file in several ways: the caller drops what it has seen.
class Walk {
 public:
  Walk(fs::path root, ExpandedPaths& result) : root_(std::move(root)), result_(result) {}

  void match(const std::string& folder, Parts parts) {
    if (parts.front() == "**" && parts.size() > 1) match(folder, parts.subspan(1));
    const Listing& listing = list(folder);
    if (parts.size() == 1) take_files(folder, listing, parts.front());
    for (const std::string& name : listing.folders) {
      if (parts.front() == "**") {
        match(folder + name + "/", parts);
      } else if (parts.size() > 1 && matches_name(parts.front(), name)) {
        match(folder + name + "/", parts.subspan(1));
      }
    }
  }

  std::vector<std::string> take() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  // Kept: patterns with "**" come back to a folder, and each must count its trouble once. Nodes of
  // the map stay in place.
  const Listing& list(const std::string& folder) {
    const auto known = listings_.find(folder);
    if (known != listings_.end()) return known->second;
    return listings_.emplace(folder, list_folder(root_ / folder, result_.unreadable)).first->second;
  }

  void take_files(const std::string& folder, const Listing& listing, const std::string& pattern) {
    for (const std::string& name : listing.files) {
      if (pattern == "**" || matches_name(pattern, name)) found_.push_back(folder + name);
    }
  }

  fs::path root_;
  ExpandedPaths& result_;
  std::unordered_map<std::string, Listing> listings_;
  std::vector<std::string> found_;
};

struct Pattern {
  fs::path root;
  std::vector<std::string> parts;
};

Pattern cut_pattern(const std::string& text) {
  Pattern pattern;
  for (const fs::path& component : fs::path(text)) {
    const std::string part = component.string();
    if (pattern.parts.empty() && !has_wildcard(part)) {
      pattern.root /= component;
    } else if (!part.empty() &&
               !(part == "**" && !pattern.parts.empty() && pattern.parts.back() == "**")) {
      pattern.parts.push_back(part);
    }
  }
  if (pattern.root.empty()) pattern.root = ".";
  return pattern;
}

// Joins results, a file that is already there left out. Names below a root hold no links to
// folders, so the root's real place and the name tell files apart without asking the file system
// about each.
class Collector {
 public:
  explicit Collector(ExpandedPaths& result) : result_(result) {}

  void add(const fs::path& real_folder, const std::string& name, FoundFile file) {
    const auto [it, fresh] = seen_.try_emplace((real_folder / name).string(), result_.files.size());
    if (fresh) {
      result_.files.push_back(std::move(file));
    } else if (file.named) {
      result_.files[it->second].named = true;
    }
  }

 private:
  ExpandedPaths& result_;
  std::unordered_map<std::string, size_t> seen_;
};

// What is not a regular file may block for ever when it is opened (a pipe), so it is never opened.
bool is_regular(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown);
}

void expand_below(const std::string& text, const Pattern& pattern, Collector& collector,
                  ExpandedPaths& result) {
  Walk walk(pattern.root, result);
  std::error_code missing;
  const fs::path real_root = fs::canonical(pattern.root, missing);
  if (!missing) walk.match("", pattern.parts);
  const std::vector<std::string> names = walk.take();
  if (names.empty()) {
    throw DataError(has_wildcard(text) ? cat("[data] expected files that match ", text,
                                             ", got none; a glob matches files (** for ",
                                             "any depth of folders): correct data.paths")
                                       : cat("[data] expected files in the folder ", text,
                                             ", got none; correct data.paths"));
  }
  for (const std::string& name : names) {
    const fs::path path = pattern.root / name;
    if (is_regular(path)) {
      collector.add(real_root, name, {path.lexically_normal().string(), false});
    } else {
      ++result.unreadable;
    }
  }
}

void expand_one(const std::string& text, Collector& collector, ExpandedPaths& result) {
  std::error_code missing;
  const fs::file_status status = fs::status(text, missing);
  if (fs::is_regular_file(status)) {
    const fs::path real = fs::canonical(text);
    collector.add(real.parent_path(), real.filename().string(), {text, true});
  } else if (fs::is_directory(status)) {
    expand_below(text, {text, {"**"}}, collector, result);
  } else if (has_wildcard(text) && !fs::exists(status)) {
    expand_below(text, cut_pattern(text), collector, result);
  } else {
    throw DataError(cat(
        "[data] expected a file, a folder or a glob, got ", text.empty() ? "''" : text, " (",
        fs::exists(status) ? "neither file nor folder"
        : missing          ? missing.message()
                           : "No such file or directory",
        "); relative paths start at the current folder, ~ is not expanded: correct data.paths"));
  }
}

}  // namespace

bool matches_name(const std::string& pattern, const std::string& name) {
  // Greedy with one way back: a mismatch lets the last star take one byte more. Earlier stars need
  // no second try.
  size_t p = 0, n = 0, star = std::string::npos, star_name = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_name = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string::npos) {
      p = star + 1;
      n = ++star_name;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string::npos;
}

ExpandedPaths expand_paths(const std::vector<std::string>& patterns) {
  ExpandedPaths result;
  Collector collector(result);
  for (const std::string& pattern : patterns) expand_one(pattern, collector, result);
  return result;
}

}  // namespace cadenza
