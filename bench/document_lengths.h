#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cadenza::bench {

/// Lengths to draw documents from, and where they come from, for output.
struct LengthDistribution {
  std::vector<int64_t> samples;
  std::string source;
};

/// A JSON array of lengths. DataError unless all are whole and at least 1.
LengthDistribution read_lengths(const std::string& path);

/// Stands in where there is no file: 4,096 lengths, log-uniform between 64 and 8,192 tokens, one in
/// 64 of them times 8.
LengthDistribution built_in_lengths();

/// Documents drawn from the samples by a fixed seed until they hold `tokens`; the last one is cut.
std::vector<int64_t> draw_documents(const std::vector<int64_t>& samples, int64_t tokens);

}  // namespace cadenza::bench
