#pragma once

#include <memory>
#include <vector>

#include "model/segments.h"
#include "runtime/exchange.h"
#include "runtime/row_buffer.h"

namespace cadenza {

// Rows are in the model's dtype, sums in fp32: LSE and D, O while partials merge into it, and dQ,
// dK, dV while they are added up. What travels is in the model's dtype, LSE and D in fp32, dQ, dK
// and dV in the gradients' (RankRuntime::Options).

/// Home-side buffers of one layer, alive from its forward until its backward. K and V, and dK and
/// dV below, have the carried rows behind the rank's own.
struct HomeBuffers {
  RowBuffer q, k, v;  // from the segment before the layer
  RowBuffer o, lse;   // merged; o is then the input of the segment behind it
  RowBuffer d_o, delta;
};

/// Server-side buffers of one layer, in the server layout. Q, K, V stay until the layer's backward,
/// or go after the forward and come again (RankRuntime::Options::inputs).
struct ServerBuffers {
  RowBuffer q, k, v;
  RowBuffer o, lse;      // partials; gone once sent
  RowBuffer d_o, delta;  // with lse: what comes back in backward
  RowBuffer dq, dk, dv;  // fp32 until they are sent
};

/// Exchanges of one round of Q, K, V: sent by homes, and passed on by servers.
struct RoundExchanges {
  std::unique_ptr<Exchange> of_homes, of_relays;
};

/// One layer of one pass: what its actions hand to one another.
struct LayerState {
  HomeBuffers home;
  ServerBuffers server;
  RowBuffer dq, dk, dv;                   // summed at home; then for the segment's backward
  RowBuffer carried_dk, carried_dv;       // fp32: what the first nano-batch is to add to its sums
  std::vector<RoundExchanges> inputs;     // Q, K, V, by round
  std::unique_ptr<Exchange> to_server;    // dO, LSE, D; Q, K, V where sent again
  std::unique_ptr<Exchange> from_server;  // O, LSE; then dQ, dK, dV
};

}  // namespace cadenza
