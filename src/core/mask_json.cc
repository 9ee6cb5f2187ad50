#include "base/cat.h"
#include "core/batch.h"
#include "core/json_field.h"
#include "core/piece_json.h"
#include "core/plan_json.h"

namespace cadenza {
namespace {

constexpr Mask::Kind kKinds[] = {Mask::Kind::kCausal, Mask::Kind::kWindow, Mask::Kind::kChunked,
                                 Mask::Kind::kPrefix, Mask::Kind::kFull,   Mask::Kind::kPieces};

Mask::Kind kind_of(const JsonField& field) {
  const std::string name = field.text();
  std::string names;
  for (const Mask::Kind kind : kKinds) {
    if (name == mask_kind_name(kind)) return kind;
    names += cat(names.empty() ? "" : ", ", mask_kind_name(kind));
  }
  field.refuse("one of " + names);
}

int64_t optional_integer(const JsonField& parent, const char* key, int64_t low) {
  const auto field = parent.find(key);
  return field ? field->integer(low, kMaxTokens) : low;
}

}  // namespace

Json band_to_json(Band band) {
  // A bound beyond every document is as good as open, and the file has no other numbers for it.
  const Json lowest = band.lowest < -kMaxTokens ? Json(nullptr) : Json(band.lowest);
  const Json highest = band.highest > kMaxTokens ? Json(nullptr) : Json(band.highest);
  return Json::array({lowest, highest});
}

Band band_from_json(const JsonField& field) {
  if (!field.is_array() || field.size() != 2) field.refuse("[lowest, highest] of k - q");
  return {field.item(0).integer_or_null(-kMaxTokens, kMaxTokens, Band::kUnboundedBelow),
          field.item(1).integer_or_null(-kMaxTokens, kMaxTokens, Band::kUnboundedAbove)};
}

Json range_to_json(Range range) { return Json::array({range.begin, range.end}); }

void put_piece(const Piece& piece, Json& json) {
  json["q"] = range_to_json(piece.q);
  json["kv"] = range_to_json(piece.kv);
  json["band"] = band_to_json(piece.band);
}

Piece piece_from_json(const JsonField& field) {
  return {field.at("q").range(kMaxTokens), field.at("kv").range(kMaxTokens),
          band_from_json(field.at("band"))};
}

Json mask_to_json(const Mask& mask) {
  Json json = {{"kind", mask_kind_name(mask.kind)}};
  switch (mask.kind) {
    case Mask::Kind::kCausal:
    case Mask::Kind::kFull:
      break;
    case Mask::Kind::kWindow:
      json["window"] = mask.window;
      json["sinks"] = mask.sinks;
      break;
    case Mask::Kind::kChunked:
      json["chunk"] = mask.chunk;
      break;
    case Mask::Kind::kPrefix:
      json["prefix"] = mask.prefix;
      break;
    case Mask::Kind::kPieces:
      json["pieces"] = Json::array();
      for (const Piece& piece : mask.explicit_pieces) {
        put_piece(piece, json["pieces"].emplace_back(Json::object()));
      }
      break;
  }
  return json;
}

Mask mask_from_field(const JsonField& field) {
  Mask mask;
  mask.kind = kind_of(field.at("kind"));
  switch (mask.kind) {
    case Mask::Kind::kCausal:
    case Mask::Kind::kFull:
      break;
    case Mask::Kind::kWindow:
      mask.window = field.at("window").integer(1, kMaxTokens);
      mask.sinks = optional_integer(field, "sinks", 0);
      break;
    case Mask::Kind::kChunked:
      mask.chunk = field.at("chunk").integer(1, kMaxTokens);
      break;
    case Mask::Kind::kPrefix:
      mask.prefix = field.at("prefix").integer(0, kMaxTokens);
      break;
    case Mask::Kind::kPieces: {
      const JsonField pieces = field.at("pieces");
      for (size_t i = 0; i < pieces.size(); ++i) {
        mask.explicit_pieces.push_back(piece_from_json(pieces.item(i)));
      }
      break;
    }
  }
  return mask;
}

Mask mask_from_json(const Json& json, const std::string& where) {
  return mask_from_field(JsonField(json, "mask", where));
}

}  // namespace cadenza
