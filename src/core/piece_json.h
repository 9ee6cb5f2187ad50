#pragma once

#include "base/json.h"
#include "core/json_field.h"
#include "core/mask.h"
#include "core/piece.h"

/// The parts of plan files that masks, tasks and batch files share.
namespace cadenza {

Json range_to_json(Range range);
Json band_to_json(Band band);
/// Adds the keys q, kv and band.
void put_piece(const Piece& piece, Json& json);

Band band_from_json(const JsonField& field);
/// Reads the keys q, kv and band of an object.
Piece piece_from_json(const JsonField& field);
Mask mask_from_field(const JsonField& field);

}  // namespace cadenza
