#pragma once

#include <cstdint>

/// The inner kernels of blocked attention, compiled once for each instruction set from
/// blocked_*.inc, and the tiles that they work on. This header stays free of the standard library:
/// an inline function that a file for AVX-512 emits could be the copy that the linker keeps for
/// everybody.
///
/// Everything lies with *lanes = query rows*: a tile is up to `tile_lanes` query rows, lane = token
/// × heads + head of one group of query heads that share a kv head, so that the group shares K and
/// V in registers. Lanes come in panels of `panel_lanes` (a few vectors). A panel of a transposed
/// operand is [dim][panel_lanes] without gaps. Scores are S^T[key][lane]: maximum and sum over keys
/// need no horizontal step, and head dims are never padded in the products.
namespace cadenza::cpu {

/// Rows in workspaces are this many floats apart: whole vectors of the widest instruction set.
static constexpr int64_t padded_dim(int64_t dim) { return (dim + 15) / 16 * 16; }

/// Keys of one task that a span visits, [begin, end), counted in the same coordinate as the lanes'
/// key ranges. [full_begin, full_end) are seen by every lane.
struct KeySpan {
  const float* k;  // row of key 0
  const float* v;
  int64_t k_stride, v_stride;  // floats
  int64_t begin, end;
  int64_t full_begin, full_end;
};

/// Lane l sees keys [key_begin[l], key_end[l]); lanes that pad the last panel see none.
struct ForwardTile {
  int64_t head_dim, v_head_dim, lanes, block_keys;
  const float* q_t;  // panels of [head_dim][panel_lanes], times scale · log2(e)
  float* o_t;        // panels of [padded v_head_dim][panel_lanes]: sum of p · v
  float* max;        // [lane] largest score so far, in units of log2
  float* sum;        // [lane] sum of 2^(score - max)
  const int64_t* key_begin;
  const int64_t* key_end;
  float* k_block;  // workspaces: [block_keys + 16][padded head_dim]
  float* v_block;  // [block_keys + 16][padded v_head_dim]
  float* scores;   // [block_keys + 16][panel_lanes]
};

/// Lanes that contribute nothing (LSE = -inf, or padding) see no key and hold zeros.
struct BackwardTile {
  int64_t head_dim, v_head_dim, lanes, block_keys, tile_lanes;
  float scale;
  const float* q_t;      // panels of [head_dim][panel_lanes], times scale · log2(e)
  const float* do_t;     // panels of [v_head_dim][panel_lanes]
  const float* q_rows;   // [tile_lanes][padded head_dim], not scaled
  const float* do_rows;  // [tile_lanes][padded v_head_dim]
  const float* lse2;     // [lane] LSE in units of log2
  const float* delta;    // [lane]
  float* dq_t;           // panels of [padded head_dim][panel_lanes]: added into
  const int64_t* key_begin;
  const int64_t* key_end;
  float* p;   // workspaces: [block_keys + 16][tile_lanes]
  float* ds;  // the same
};

/// Keys of one task packed by the caller: rows padded_dim apart, 16 rows of zeros after the last.
struct KeyBuffer {
  const float* k;
  const float* v;
  float* dk;  // added into
  float* dv;
  int64_t begin, end;  // rows to visit; the begin is a multiple of 16
  int64_t full_begin, full_end;
};

struct BlockKernels {
  const char* name;     // as in CADENZA_ISA
  int64_t panel_lanes;  // a multiple of the vector width
  int64_t tile_lanes;   // a multiple of panel_lanes
  /// Continues the online softmax of a tile over a span of keys.
  void (*forward)(const ForwardTile& tile, const KeySpan& keys);
  /// Adds the gradients of all pairs of tile × keys.
  void (*backward)(const BackwardTile& tile, const KeyBuffer& keys);
};

extern const BlockKernels kPortableKernels;
#if defined(__x86_64__)
extern const BlockKernels kAvx2Kernels;
extern const BlockKernels kAvx512Kernels;
#endif

}  // namespace cadenza::cpu
