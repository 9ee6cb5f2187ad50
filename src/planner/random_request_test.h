#pragma once

#include <algorithm>
#include <sstream>
#include <string>

#include "base/rng.h"
#include "planner/strategy.h"

namespace cadenza {

/// The shapes of mask that every strategy is tried with.
enum class MaskShape { kCausal, kWindow, kSinks, kChunked, kPrefix, kFull, kPieces, kCount };

/// Disjoint pieces: each range of queries sees one range of keys, all of it or within a band.
inline Mask random_pieces(Rng& rng, int64_t length) {
  Mask mask{.kind = Mask::Kind::kPieces, .explicit_pieces = {}};
  for (int64_t q = 0; q < length;) {
    const int64_t q_end = uniform_between(rng, q + 1, length);
    const int64_t kv = uniform_below(rng, static_cast<uint64_t>(length));
    const int64_t kv_end = uniform_between(rng, kv + 1, length);
    const int64_t low = uniform_between(rng, -length, length);
    const Band band = uniform_below(rng, 2) == 0 ? Band::full() : Band{low, low + length / 2};
    if (uniform_below(rng, 4) > 0) mask.explicit_pieces.push_back({{q, q_end}, {kv, kv_end}, band});
    q = q_end;
  }
  return mask;
}

inline Mask random_mask(Rng& rng, MaskShape shape, int64_t length) {
  const int64_t number = uniform_between(rng, 1, length + 2);
  switch (shape) {
    case MaskShape::kWindow:
      return {.kind = Mask::Kind::kWindow, .window = number, .explicit_pieces = {}};
    case MaskShape::kSinks:
      return {.kind = Mask::Kind::kWindow,
              .window = number,
              .sinks = uniform_between(rng, 1, 5),
              .explicit_pieces = {}};
    case MaskShape::kChunked:
      return {.kind = Mask::Kind::kChunked, .chunk = number, .explicit_pieces = {}};
    case MaskShape::kPrefix:
      return {.kind = Mask::Kind::kPrefix, .prefix = number - 1, .explicit_pieces = {}};
    case MaskShape::kFull:
      return {.kind = Mask::Kind::kFull, .explicit_pieces = {}};
    case MaskShape::kPieces:
      return random_pieces(rng, length);
    case MaskShape::kCausal:
    case MaskShape::kCount:
      break;
  }
  return {};
}

/// Many short documents, among them of one token; or one long one and some of one token; or fewer
/// documents than servers. Mostly short: hand-checkable. Now and then several tiles of a kernel.
inline std::vector<int64_t> random_lengths(Rng& rng, int servers) {
  std::vector<int64_t> lengths;
  const int64_t longest = uniform_below(rng, 8) == 0 ? 1500 : 40;
  switch (uniform_below(rng, 3)) {
    case 0:
      lengths.push_back(uniform_between(rng, 10, 10 * longest));
      lengths.resize(1 + uniform_below(rng, 4), 1);
      break;
    case 1:
      lengths.resize(1 + uniform_below(rng, static_cast<uint64_t>(servers)));
      for (int64_t& length : lengths) length = uniform_between(rng, 1, longest);
      break;
    default:
      lengths.resize(1 + uniform_below(rng, 20));
      for (int64_t& length : lengths)
        length = uniform_below(rng, 3) == 0 ? 1 : uniform_between(rng, 1, longest);
  }
  shuffle(lengths, rng);
  return lengths;
}

/// Servers alike or with speeds from 0.25 to 4, in one node or in nodes of two; all of them hold
/// tokens or some only serve.
inline Cluster random_cluster(Rng& rng) {
  Cluster cluster{.servers = static_cast<int>(uniform_between(rng, 1, 8)), .speeds = {}};
  if (uniform_below(rng, 3) == 0) {
    for (int i = 0; i < cluster.servers; ++i)
      cluster.speeds.push_back(0.25 * static_cast<double>(int64_t{1} << uniform_below(rng, 5)));
  }
  if (uniform_below(rng, 2) == 0) cluster.servers_per_node = 2;  // of an odd number one is alone
  return cluster;
}

/// Without homes; of some documents only a part of the queries, or none. `tokens_per_rank` is
/// enough; options.capacity, where given, may be just too little.
inline PlanRequest random_request(Rng& rng, MaskShape shape, const CostModel& cost) {
  PlanRequest request;
  request.cluster = random_cluster(rng);
  request.homes = request.cluster.servers;
  if (uniform_below(rng, 4) == 0)
    request.homes = static_cast<int>(uniform_between(rng, 1, request.cluster.servers));
  request.documents = documents_of_lengths(random_lengths(rng, request.cluster.servers));
  int64_t tokens = 0;
  for (Document& document : request.documents) {
    document.mask = random_mask(rng, shape, document.length);
    if (uniform_below(rng, 8) == 0) {
      document.queries.begin = uniform_between(rng, 0, document.length);
      document.queries.end = uniform_between(rng, document.queries.begin, document.length);
    }
    tokens += document.length;
  }
  const int64_t least = (tokens + request.homes - 1) / request.homes;
  request.tokens_per_rank = least + uniform_between(rng, 0, least);
  if (uniform_below(rng, 2) == 0) {
    const bool at_the_edge = uniform_below(rng, 4) == 0;
    request.options.capacity =
        std::max<int64_t>(1, uniform_between(rng, least - 1, at_the_edge ? least + 1 : 3 * least));
  }
  request.shape = {.heads = 6, .kv_heads = 2, .head_dim = 8};
  request.cost = &cost;
  request.tolerance = 0.05;
  return request;
}

/// Homes for the strategies that take them as they find them: each document cut at random places.
inline void give_random_homes(Rng& rng, PlanRequest& request) {
  request.homes_given = true;
  const auto ranks = static_cast<uint64_t>(request.homes);
  for (Document& document : request.documents) {
    document.shards.clear();
    for (int64_t begin = 0; begin < document.length;) {
      const int64_t end = uniform_below(rng, 2) == 0
                              ? document.length
                              : uniform_between(rng, begin + 1, document.length);
      document.shards.push_back({{begin, end}, static_cast<Rank>(uniform_below(rng, ranks))});
      begin = end;
    }
  }
}

/// The request in words, to be planned again by hand.
inline std::string describe(const PlanRequest& request) {
  std::ostringstream text;
  text << request.cluster.servers << " servers, " << request.homes << " homes"
       << (request.homes_given ? " (given)" : "") << ", " << request.cluster.servers_per_node
       << " a node, speeds";
  for (const double speed : request.cluster.speeds) text << " " << speed;
  text << ", tokens_per_rank " << request.tokens_per_rank << ", capacity "
       << request.options.capacity.value_or(0) << "; documents";
  for (const Document& document : request.documents) {
    const Mask& mask = document.mask;
    text << "\n  " << document.length << " queries " << document.queries << " "
         << mask_kind_name(mask.kind) << " window " << mask.window << " sinks " << mask.sinks
         << " chunk " << mask.chunk << " prefix " << mask.prefix;
    for (const Piece& piece : mask.explicit_pieces)
      text << " (q " << piece.q << " kv " << piece.kv << " band " << piece.band << ")";
    for (const Shard& shard : document.shards) text << " " << shard.rows << "@" << shard.home;
  }
  return text.str();
}

}  // namespace cadenza
