#pragma once

#include "planner/strategy.h"

namespace cadenza {

/// Hybrid data parallelism (ByteScale, arXiv 2502.21231): data and context parallelism are one axis
/// of ranks, and each document uses as many of them as it needs, any number. Documents that need
/// one rank lie whole; the others lie as head and tail pieces on their ranks (zigzag), which fetch
/// each other's keys point to point.
///
///   degree = the fewest ranks that hold the document and on which it alone takes no longer than
///            a limit
///   documents, most expensive first, go to the ranks that are least loaded and have room
///   (algorithm 2 with buckets of one document); where fewer ranks than the degree have room for
///   equal parts, to the fewest that have room together
///   limits: none (memory alone, as the original), then the mean time of all ranks and fractions of
///   it, until no rank is above (1 + tolerance) × the mean; else the limit that came nearest
///
/// In the original memory alone sets the degree, and a rank that has a long document runs fewer
/// micro-batches; inside one micro-batch everyone would wait for it. Activation offload is not
/// planned here.
///
/// Requires: no homes. Tokens a rank: options.capacity. Speeds: shares are in proportion to them.
/// Throws:   NotApplicable where homes are given, NeedsCapacity where the ranks cannot hold all.
/// Cost:     one round of keys; a document on d ranks moves d - 1 times its KV rows at most.
/// Not for:  batches that fill the capacity: balance comes from ranks that hold fewer tokens.
Plan plan_hdp(const PlanRequest& request);

}  // namespace cadenza
