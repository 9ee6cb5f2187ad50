#include "core/plan_json.h"

#include <limits>

#include "core/json_field.h"
#include "core/piece_json.h"

namespace cadenza {
namespace {

constexpr const char* kFormat = "cadenza-plan";
constexpr int64_t kVersion = 1;
// More servers than any machine has ranks; readers keep a few numbers for each.
constexpr int64_t kMaxServers = int64_t{1} << 20;
constexpr int64_t kMaxInt = std::numeric_limits<int>::max();

Json document_to_json(const Document& document) {
  Json json = {{"length", document.length}, {"mask", mask_to_json(document.mask)}};
  Json shards = Json::array();
  for (const Shard& shard : document.shards) {
    shards.push_back(Json::array({shard.rows.begin, shard.rows.end, shard.home}));
  }
  json["shards"] = std::move(shards);
  if (document.queries != Range{0, document.length}) {
    json["queries"] = range_to_json(document.queries);
  }
  if (document.nano_batch != 0) json["nano_batch"] = document.nano_batch;
  return json;
}

Json task_to_json(const Task& task) {
  Json json = {{"document", task.document}};
  put_piece(task.piece, json);
  if (!task.heads.empty()) json["heads"] = range_to_json(task.heads);
  json["server"] = task.server;
  if (task.round != 0) json["round"] = task.round;
  if (task.via != Task::kHome) json["via"] = task.via;
  return json;
}

Shard shard_from(const JsonField& field) {
  if (!field.is_array() || field.size() != 3) field.refuse("[begin, end, home]");
  const Range rows{field.item(0).integer(0, kMaxTokens), field.item(1).integer(0, kMaxTokens)};
  if (rows.begin > rows.end) field.refuse("[begin, end, home] with begin <= end");
  return {rows, static_cast<Rank>(field.item(2).integer(0, kMaxServers))};
}

Document document_from(const JsonField& field) {
  Document document;
  document.length = field.at("length").integer(1, kMaxTokens);
  document.mask = mask_from_field(field.at("mask"));
  const JsonField shards = field.at("shards");
  const size_t count = shards.size();
  for (size_t i = 0; i < count; ++i) document.shards.push_back(shard_from(shards.item(i)));
  document.queries = {0, document.length};
  if (const auto queries = field.find("queries")) document.queries = queries->range(kMaxTokens);
  if (const auto nano = field.find("nano_batch")) {
    document.nano_batch = static_cast<int>(nano->integer(0, 1));
  }
  return document;
}

// An empty head range would read as "all heads" in memory.
Range heads_from(const JsonField& field) {
  const Range heads = field.range(kMaxInt);
  if (heads.empty()) field.refuse("[begin, end] with begin < end");
  return heads;
}

Task task_from(const JsonField& field) {
  Task task;
  task.document = static_cast<int>(field.at("document").integer(0, kMaxInt));
  task.piece = piece_from_json(field);
  if (const auto heads = field.find("heads")) task.heads = heads_from(*heads);
  task.server = static_cast<Rank>(field.at("server").integer(0, kMaxServers));
  if (const auto round = field.find("round")) {
    task.round = static_cast<int>(round->integer(0, kMaxInt));
  }
  if (const auto via = field.find("via")) {
    task.via = static_cast<Rank>(via->integer(0, kMaxServers));
  }
  return task;
}

void check_format(const JsonField& root) {
  const JsonField format = root.at("format");
  if (format.text() != kFormat) format.refuse("\"cadenza-plan\"");
  root.at("version").integer(kVersion, kVersion);
}

}  // namespace

Json plan_to_json(const Plan& plan) {
  Json json = {{"format", kFormat}, {"version", kVersion}, {"servers", plan.servers}};
  if (plan.batch.homes != plan.servers) json["homes"] = plan.batch.homes;
  json["strategy"] = plan.strategy;
  json["documents"] = Json::array();
  for (const Document& document : plan.batch.documents) {
    json["documents"].push_back(document_to_json(document));
  }
  json["tasks"] = Json::array();
  for (const Task& task : plan.tasks) json["tasks"].push_back(task_to_json(task));
  return json;
}

Plan plan_from_json(const Json& json, const std::string& where) {
  const JsonField root(json, "plan", where);
  check_format(root);
  Plan plan;
  plan.servers = static_cast<int>(root.at("servers").integer(1, kMaxServers));
  plan.batch.homes = plan.servers;
  if (const auto homes = root.find("homes")) {
    plan.batch.homes = static_cast<int>(homes->integer(1, plan.servers));
  }
  if (const auto strategy = root.find("strategy")) plan.strategy = strategy->text();
  const JsonField documents = root.at("documents");
  const size_t document_count = documents.size();
  for (size_t i = 0; i < document_count; ++i) {
    plan.batch.documents.push_back(document_from(documents.item(i)));
  }
  const JsonField tasks = root.at("tasks");
  const size_t task_count = tasks.size();
  plan.tasks.reserve(task_count);
  for (size_t i = 0; i < task_count; ++i) plan.tasks.push_back(task_from(tasks.item(i)));
  return plan;
}

}  // namespace cadenza
