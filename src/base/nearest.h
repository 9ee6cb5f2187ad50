#pragma once

#include <string>
#include <vector>

namespace cadenza {

/// The candidate with the smallest edit distance to `word`; empty when there is none. For "did you
/// mean".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace cadenza
