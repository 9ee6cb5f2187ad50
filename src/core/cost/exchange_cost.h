#pragma once

namespace cadenza {

/// How long rows take from rank to rank: measured between two ranks.
struct ExchangeCost {
  double latency_seconds = 0;        // of a message without bytes
  double bytes_per_second = 0;       // of the transport, one direction
  double pack_bytes_per_second = 0;  // rows to or from a message

  /// Of what one server receives: packed where it comes from, sent, unpacked here.
  double seconds(double bytes) const {
    if (bytes <= 0) return 0;
    return latency_seconds + bytes * (1 / bytes_per_second + 2 / pack_bytes_per_second);
  }
};

}  // namespace cadenza
