#pragma once

#include <string>

#include "core/cost/profile.h"

namespace cadenza {

/// A profile of recorded times of a GPU: a CSV file with the columns L, cp, tp and
/// duration_per_doc, milliseconds of causal attention, forward, of a rank that has L / cp query
/// rows of a document of L tokens, head and tail, so that they see L / 2 keys on average. Rows with
/// tp = 1 are read: of all heads. Between and beyond these points the time of a pair is that of the
/// nearest point with as many keys. The backward was not recorded: it is taken as 2.5 times the
/// forward (five matrix products to two). DataError with file and line where it is malformed.
Profile read_recorded_profile(const std::string& path, const ModelShape& shape);

}  // namespace cadenza
