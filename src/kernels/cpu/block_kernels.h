#pragma once

#include <cstdint>

/// The inner kernels of blocked attention, compiled once for each instruction set from *.inc files
/// of one source, and the tiles that they work on. This header stays free of the standard library:
/// an inline function that a file for AVX-512 emits could be the copy that the linker keeps for
/// everybody.
///
/// Everything lies with *lanes = query rows*: a tile is up to `tile_lanes` query rows, lane = token
/// × heads + head of one group of query heads that share a kv head, so that the group shares K and
/// V in registers. Lanes come in panels of `panel_lanes` (a few vectors). Scores are
/// S^T[key][lane]: maximum and sum over keys need no horizontal step.
namespace cadenza::cpu {

/// Rows of fp32 or bf16 numbers, each anywhere in memory.
struct RowSource {
  const void* const* rows;
  int64_t count;
  int64_t dim;
  bool bf16;
};

/// Lane l sees keys [begin[l], end[l]).
struct LaneRanges {
  const int64_t* begin;
  const int64_t* end;
};

/// Keys of one task that a tile visits, [begin, end), counted in the same coordinate as the lanes'
/// ranges. [full_begin, full_end) are seen by every lane.
struct KeySpan {
  const void* k;  // row of key 0
  const void* v;
  int64_t k_stride, v_stride;  // bytes
  bool bf16;
  int64_t begin, end;
  int64_t full_begin, full_end;
};

struct HeadDims {
  int64_t qk, v;
};

/// One tile of query rows in the forward. `scratch`: forward_bytes, 64-byte aligned.
struct ForwardTile {
  HeadDims dims;
  int64_t lanes;
  float factor;  // scale · log2(e)
  void* scratch;
};

/// One tile of query rows and one buffer of keys in the backward. `scratch`: backward_bytes,
/// 64-byte aligned. Lanes that contribute nothing (LSE = -inf) see no key and hold zeros.
struct BackwardTile {
  HeadDims dims;
  int64_t lanes;
  int64_t keys;        // in the buffer, at most buffer_keys
  float factor;        // scale · log2(e)
  float scale;         // of dQ and dK
  const float* lse2;   // [lane] LSE in units of log2; tile_lanes of them
  const float* delta;  // [lane]
  void* scratch;
};

/// The key rows of the buffer that a tile visits, as in KeySpan.
struct KeyRange {
  int64_t begin, end;
  int64_t full_begin, full_end;
};

struct BlockKernels {
  const char* operands;                             // what is multiplied: "fp32" or "bf16"
  int64_t panel_lanes;                              // a multiple of the vector width
  int64_t forward_tile_lanes, backward_tile_lanes;  // multiples of panel_lanes
  int64_t buffer_keys;

  int64_t (*forward_bytes)(const HeadDims& dims);
  /// Packs the queries and starts an online softmax without keys.
  void (*forward_begin)(const ForwardTile& tile, const RowSource& q);
  /// Continues it over a span of keys. Ranges of lanes that pad the last panel are those of the
  /// last lane.
  void (*forward_keys)(const ForwardTile& tile, const KeySpan& keys, const LaneRanges& seen);
  /// Writes O and LSE of each lane; zeros and -inf where a lane saw no key.
  void (*forward_end)(const ForwardTile& tile, void* const* o, bool o_bf16, float* lse);

  int64_t (*backward_bytes)(const HeadDims& dims);
  /// Packs a buffer of keys; its gradients are zero.
  void (*backward_begin_keys)(const BackwardTile& tile, const RowSource& k, const RowSource& v);
  /// Packs the queries; their gradients are zero.
  void (*backward_begin_queries)(const BackwardTile& tile, const RowSource& q,
                                 const RowSource& d_o);
  /// Adds the gradients of all pairs. Lanes that pad the last panel see no key.
  void (*backward)(const BackwardTile& tile, const KeyRange& keys, const LaneRanges& seen);
  /// Add what was gathered into the rows of dQ and of dK, dV.
  void (*backward_end_queries)(const BackwardTile& tile, float* const* dq);
  void (*backward_end_keys)(const BackwardTile& tile, float* const* dk, float* const* dv);
};

}  // namespace cadenza::cpu
