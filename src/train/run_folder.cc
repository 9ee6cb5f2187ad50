#include "train/run_folder.h"

#include <unistd.h>

#include <filesystem>

#include "base/cat.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "comm/collectives.h"

namespace cadenza {
namespace {

namespace fs = std::filesystem;

Json rank_entry(Rank rank) {
  char host[256] = "";
  ::gethostname(host, sizeof(host) - 1);
  return {{"rank", rank}, {"pid", ::getpid()}, {"host", host}, {"role", "train"}};
}

void keep_earlier_run(const std::string& path) {
  if (!fs::exists(fs::path(path) / "run.json")) return;
  int number = 1;
  while (fs::exists(cat(path, ".", number))) ++number;
  fs::rename(path, cat(path, ".", number));
  log_info(cat("the earlier run in ", path, " is now ", path, ".", number));
}

}  // namespace

RunFolder::RunFolder(Group& group, const std::string& path, const Json& made_by,
                     double deadline_seconds)
    : writes_(group.rank() == 0), path_(path) {
  const auto entries =
      all_gather(group, rank_entry(group.rank()).dump(), Deadline::after_seconds(deadline_seconds));
  if (!writes_) return;
  try {
    keep_earlier_run(path);
    fs::create_directories(path);
    Json ranks = Json::array();
    for (const std::string& entry : entries) ranks.push_back(parse_json(entry, "a rank's entry"));
    write_json("ranks.json", ranks);
    write_json("run.json", made_by);
    metrics_.open(fs::path(path) / "metrics.jsonl");
    if (!metrics_) throw DataError(cat("cannot write ", path, "/metrics.jsonl"));
  } catch (const std::exception& error) {
    throw ConfigError(cat("[train] run.folder = ", path, " cannot be written: ", error.what(),
                          "; give --set run.folder=ANOTHER"));
  }
}

void RunFolder::write_metrics(const Json& line) {
  if (!writes_) return;
  metrics_ << line.dump() << std::endl;  // flushed: a run that is killed keeps its lines
  if (!metrics_) {
    throw DataError(
        cat("[train] cannot write ", path_, "/metrics.jsonl; see whether the disk is full"));
  }
}

void RunFolder::write_json(const std::string& name, const Json& content) {
  if (writes_) write_file((fs::path(path_) / name).string(), content.dump(2) + "\n");
}

namespace {

/// {"segment": seconds, ...} for each rank, and the seconds of its step, to which they sum.
Json lanes_of(const StepReport& report) {
  Json ranks = Json::array();
  for (const RankTimes& times : report.rank_times) {
    Json lanes;
    for (int lane = 0; lane < kLanes; ++lane)
      lanes[lane_name(static_cast<Lane>(lane))] = times.lanes.seconds[static_cast<size_t>(lane)];
    lanes["step"] = times.lanes.total();
    ranks.push_back(std::move(lanes));
  }
  return ranks;
}

Json seconds_of(const StepReport& report, std::initializer_list<Lane> lanes) {
  Json seconds = Json::array();
  for (const RankTimes& times : report.rank_times) {
    double sum = 0;
    for (const Lane lane : lanes) sum += times.lanes[lane];
    seconds.push_back(sum);
  }
  return seconds;
}

}  // namespace

Json metrics_line(const StepReport& report) {
  Json hashes = Json::array();
  for (const uint64_t hash : report.plan_hashes) hashes.push_back(hash_text(hash));
  return {{"step", report.step},
          {"loss", report.loss},
          {"gradient_norm", report.gradient_norm},
          {"learning_rate", report.learning_rate},
          {"updated", report.updated},
          {"documents", report.documents},
          {"tokens", report.tokens},
          {"targets", report.targets},
          {"seconds", report.seconds},
          {"tokens_per_second", report.tokens_per_second()},
          {"rank_predicted_attention", report.rank_predicted_attention},
          {"attention_max_over_mean", report.attention_max_over_mean()},
          {"sent_bytes", report.sent_bytes()},
          {"plan_seconds", report.plan_seconds},
          {"plan_wait_seconds", report.plan_wait_seconds},
          {"reduce_seconds", report.rank_times.front().lanes[Lane::kReduce]},
          {"rank_attention_seconds", seconds_of(report, {Lane::kAttention})},
          {"rank_segment_seconds", seconds_of(report, {Lane::kSegment})},
          {"rank_pack_seconds", seconds_of(report, {Lane::kPack, Lane::kUnpack})},
          {"rank_wait_seconds", seconds_of(report, {Lane::kTransferWait, Lane::kImbalanceWait})},
          {"rank_lanes", lanes_of(report)},
          {"rank_peak_memory_bytes", report.rank_peak_memory_bytes},
          {"plan_hashes", hashes}};
}

}  // namespace cadenza
