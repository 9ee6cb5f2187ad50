#include "core/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "core/batch_file.h"
#include "core/verify_plan.h"

namespace cadenza {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr const char* kExample =
    R"({"format": "cadenza-plan", "version": 1, "servers": 8, "strategy": "cad",
 "documents": [{"length": 300, "mask": {"kind": "causal"}, "shards": [[0, 256, 0], [256, 300, 1]]}],
 "tasks": [{"document": 0, "q": [0, 300], "kv": [0, 256], "band": [null, 0], "server": 2},
           {"document": 0, "q": [256, 300], "kv": [256, 300], "band": [null, 0], "server": 1}]})";

Json example() { return parse_json(kExample, "example"); }

TEST(PlanJson, WritesTheExampleAsItWasRead) {
  const Plan plan = plan_from_json(example(), "example");
  EXPECT_EQ(plan.servers, 8);
  EXPECT_EQ(plan.batch.homes, 8);
  EXPECT_EQ(plan.strategy, "cad");
  EXPECT_EQ(plan.batch.documents[0].queries, (Range{0, 300}));
  EXPECT_EQ(plan.tasks[1].piece, (Piece{{256, 300}, {256, 300}, Band::causal()}));
  EXPECT_EQ(plan.tasks[0].via, Task::kHome);
  EXPECT_EQ(plan_to_json(plan).dump(), example().dump());
  EXPECT_NO_THROW(verify_plan(plan));
}

Mask mask_of(Mask::Kind kind, int64_t a, int64_t b = 0) {
  Mask mask;
  mask.kind = kind;
  switch (kind) {
    case Mask::Kind::kWindow:
      mask.window = a;
      mask.sinks = b;
      break;
    case Mask::Kind::kChunked:
      mask.chunk = a;
      break;
    case Mask::Kind::kPrefix:
      mask.prefix = a;
      break;
    case Mask::Kind::kPieces:
      mask.explicit_pieces = {{{0, a}, {0, b}, {-3, Band::kUnboundedAbove}}, {{a, 9}, {0, 9}, {}}};
      break;
    case Mask::Kind::kCausal:
    case Mask::Kind::kFull:
      break;
  }
  return mask;
}

TEST(PlanJson, EveryFieldMakesTheRoundTrip) {
  Plan plan;
  plan.strategy = "by \"hand\"";
  plan.servers = 5;
  plan.batch = fill_sequentially(documents_of_lengths({9, 9, 9, 9, 9, 9, 9}), 4, 20);
  const Mask masks[] = {mask_of(Mask::Kind::kCausal, 0),    mask_of(Mask::Kind::kFull, 0),
                        mask_of(Mask::Kind::kWindow, 4, 2), mask_of(Mask::Kind::kWindow, 4),
                        mask_of(Mask::Kind::kChunked, 4),   mask_of(Mask::Kind::kPrefix, 0),
                        mask_of(Mask::Kind::kPieces, 4, 5)};
  for (size_t i = 0; i < 7; ++i) plan.batch.documents[i].mask = masks[i];
  plan.batch.documents[1].queries = {2, 5};
  plan.batch.documents[2].nano_batch = 1;
  plan.tasks.resize(2);
  plan.tasks[1] = {.document = 3,
                   .piece = {{1, 2}, {3, 4}, {-5, 6}},
                   .heads = {2, 7},
                   .server = 4,
                   .round = 2,
                   .via = 0};
  const std::string text = plan_to_json(plan).dump();
  EXPECT_EQ(plan_from_json(parse_json(text, "copy"), "copy"), plan);
}

TEST(PlanJson, BoundsBeyondEveryDocumentAreWrittenAsOpen) {
  Plan plan = plan_from_json(example(), "example");
  plan.tasks[0].piece.band = {-kMaxTokens - 1, kMaxTokens + 1};
  EXPECT_EQ(plan_to_json(plan)["tasks"][0]["band"].dump(), "[null,null]");
}

TEST(PlanJson, UnknownKeysAreAllowed) {
  Json json = example();
  json["note"] = "mine";
  json["documents"][0]["source"] = 3;
  json["tasks"][0]["cost"] = 1.5;
  EXPECT_EQ(plan_from_json(json, "x"), plan_from_json(example(), "x"));
}

TEST(PlanJson, EveryMalformedFieldIsNamed) {
  const auto refused = [](const char* pointer, const Json& value, const char* text) {
    Json json = example();
    json[Json::json_pointer(pointer)] = value;
    EXPECT_THAT([&] { plan_from_json(json, "a.json"); },
                ThrowsMessage<DataError>(HasSubstr(std::string("[plan] a.json: ") + text)));
  };
  refused("/format", "plan", "format: expected \"cadenza-plan\", got \"plan\"");
  refused("/version", 2, "version: expected an integer from 1 to 1, got 2");
  refused("/servers", 0, "servers: expected an integer from 1 to 1048576, got 0");
  refused("/servers", 2.5, "servers: expected an integer from 1 to 1048576, got 2.5");
  refused("/homes", 9, "homes: expected an integer from 1 to 8, got 9");
  refused("/strategy", 3, "strategy: expected a string, got 3");
  refused("/documents", 3, "documents: expected an array, got 3");
  refused("/documents/0", Json::array(), "documents[0]: expected an object, got []");
  refused("/documents/0/length", -1, "documents[0].length: expected an integer from 1 to");
  refused("/documents/0/length", kMaxTokens + 1, "documents[0].length: expected an integer");
  refused("/documents/0/length", 18446744073709551615ull, "documents[0].length: expected");
  refused("/documents/0/length", true, "documents[0].length: expected");
  refused("/documents/0/queries", Json::array({0}), "documents[0].queries: expected [begin, end]");
  refused("/documents/0/nano_batch", 2, "documents[0].nano_batch: expected an integer from 0 to 1");
  refused("/documents/0/mask/kind", "causla",
          "documents[0].mask.kind: expected one of causal, window, chunked, prefix, full, pieces, "
          "got \"causla\"");
  refused("/documents/0/mask", {{"kind", "window"}},
          "documents[0].mask: expected the key \"window\"");
  refused("/documents/0/mask", {{"kind", "chunked"}, {"chunk", 0}}, "documents[0].mask.chunk: ");
  refused("/documents/0/mask", {{"kind", "window"}, {"window", 4}, {"sinks", -1}},
          "documents[0].mask.sinks: expected an integer from 0");
  refused("/documents/0/mask", {{"kind", "pieces"}, {"pieces", {{{"q", 1}}}}},
          "documents[0].mask.pieces[0].q: expected [begin, end]");
  refused("/documents/0/shards/1", {0, 1}, "documents[0].shards[1]: expected [begin, end, home]");
  refused("/documents/0/shards/1", {4, 1, 0},
          "documents[0].shards[1]: expected [begin, end, home]");
  refused("/documents/0/shards/1/2", -1, "documents[0].shards[1][2]: expected an integer");
  refused("/tasks/1/document", "0", "tasks[1].document: expected an integer");
  refused("/tasks/1/q", {5, 4}, "tasks[1].q: expected [begin, end] with begin <= end, got [5,4]");
  refused("/tasks/1/q/0", 1.0, "tasks[1].q[0]: expected an integer");
  refused("/tasks/1/kv/1", -1, "tasks[1].kv[1]: expected an integer");
  refused("/tasks/1/band", nullptr, "tasks[1].band: expected [lowest, highest] of k - q, got null");
  refused("/tasks/1/band/0", "x", "tasks[1].band[0]: expected an integer or null, got \"x\"");
  refused("/tasks/1/band/1", kMaxTokens + 1, "tasks[1].band[1]: expected an integer from");
  refused("/tasks/1/heads", {3, 3}, "tasks[1].heads: expected [begin, end] with begin < end");
  refused("/tasks/1/server", -1, "tasks[1].server: expected an integer");
  refused("/tasks/1/round", -1, "tasks[1].round: expected an integer");
  refused("/tasks/1/via", -1, "tasks[1].via: expected an integer");
}

TEST(PlanJson, EveryMissingFieldIsNamed) {
  const auto refused = [](const char* object, const char* key, const std::string& text) {
    Json json = example();
    json[Json::json_pointer(object)].erase(key);
    EXPECT_THAT(
        [&] { plan_from_json(json, "a.json"); },
        ThrowsMessage<DataError>(HasSubstr("[plan] a.json: " + text + "expected the key \"" + key +
                                           "\", got none; add it")));
  };
  for (const char* key : {"format", "version", "servers", "documents", "tasks"}) {
    refused("", key, "");
  }
  for (const char* key : {"length", "mask", "shards"}) {
    refused("/documents/0", key, "documents[0]: ");
  }
  for (const char* key : {"document", "q", "kv", "band", "server"}) {
    refused("/tasks/1", key, "tasks[1]: ");
  }
}

// Writes a file of its own for each text.
BatchFile read_text(const std::string& text) {
  const std::string path = testing::TempDir() + "/cadenza_batch_file_test.json";
  write_file(path, text);
  return read_batch_file(path);
}

TEST(BatchFile, ReadsObjectsAndPlainArrays) {
  const BatchFile file = read_text(
      R"({"name": "odd", "servers": 3, "tokens_per_server": 10, "source": "x", "documents": [1, 17],
          "mask": {"kind": "window", "window": 4}})");
  EXPECT_EQ(file.name, "odd");
  EXPECT_EQ(file.servers, 3);
  EXPECT_EQ(file.tokens_per_server, 10);
  ASSERT_THAT(file.documents, SizeIs(2));
  EXPECT_EQ(file.documents[1].length, 17);
  EXPECT_EQ(file.documents[1].queries, (Range{0, 17}));
  EXPECT_EQ(file.documents[1].mask, mask_of(Mask::Kind::kWindow, 4));

  const BatchFile plain = read_text("[5, 6, 7]");
  EXPECT_EQ(plain.name, "cadenza_batch_file_test");
  EXPECT_FALSE(plain.servers || plain.tokens_per_server);
  EXPECT_THAT(plain.documents, SizeIs(3));
  EXPECT_EQ(plain.documents[0].mask, Mask());
}

TEST(BatchFile, ErrorsNameFileAndField) {
  const auto refused = [](const char* text, const char* message) {
    EXPECT_THAT([&] { read_text(text); },
                ThrowsMessage<DataError>(testing::AllOf(HasSubstr("cadenza_batch_file_test.json: "),
                                                        HasSubstr(message))));
  };
  refused("3", "expected an object with \"documents\", or an array of lengths, got 3");
  refused("[]", "expected at least one length, got []");
  refused("[4, 0]", "[1]: expected an integer from 1 to 2147483648, got 0");
  refused("[4, 2147483648]", "[1]: expected lengths that sum to at most 2147483648");
  refused("{}", "expected the key \"documents\", got none; add it");
  refused(R"({"documents": [1, 2, 3, "x"]})", "documents[3]: expected an integer");
  refused(R"({"documents": [1], "servers": 0})", "servers: expected an integer from 1");
  refused(R"({"documents": [1], "tokens_per_server": 1.5})", "tokens_per_server: expected");
  refused(R"({"documents": [1], "mask": {"kind": "none"}})", "mask.kind: expected one of causal");
}

TEST(BatchFile, ReadsAnInputOfTheBenchmark) {
  const std::string path = CADENZA_SOURCE_DIR "/tests/data/batches/s8_packed_128k_1.json";
  const BatchFile file = read_batch_file(path);
  EXPECT_EQ(file.name, "s8_packed_128k_1");
  EXPECT_EQ(file.servers, 8);
  int64_t tokens = 0;
  for (const Document& document : file.documents) tokens += document.length;
  EXPECT_EQ(tokens, 8 * file.tokens_per_server.value());
}

}  // namespace
}  // namespace cadenza
