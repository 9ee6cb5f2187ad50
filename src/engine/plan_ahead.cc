#include "engine/plan_ahead.h"

#include <cstring>
#include <string>
#include <utility>

#include "base/cat.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "comm/collectives.h"

namespace cadenza {
namespace {

// Beside those of the collectives (comm/collectives.cc), which count from the same first tag.
constexpr Tag kSizeTag = kFirstCollectiveTag + 128;
constexpr Tag kTextTag = kFirstCollectiveTag + 129;

std::vector<AgreedBatch> compile_step(std::vector<MadePlans> plans, const PlanSettings& settings,
                                      Rank rank) {
  std::vector<AgreedBatch> step;
  for (MadePlans& made : plans) step.push_back(compile_batch(std::move(made), settings, rank));
  return step;
}

Message message_of(const void* data, size_t bytes) {
  Message message(static_cast<int64_t>(bytes));
  if (bytes > 0) std::memcpy(message.data(), data, bytes);
  return message;
}

}  // namespace

PlanAhead::~PlanAhead() { forget(); }

void PlanAhead::forget() {
  begun_.reset();
  posted_ = received_ = false;
  if (made_.valid()) made_.wait();
  if (agreed_.valid()) agreed_.wait();
  made_ = {};
  agreed_ = {};
  sent_.clear();
}

void PlanAhead::begin(const StepLengths& lengths) {
  forget();
  begun_ = lengths;
  if (group_.rank() != 0) return;
  made_ = std::async(std::launch::async, [lengths, &settings = settings_, ranks = group_.size()] {
    std::vector<MadePlans> plans;
    for (const BatchLengths& batch : lengths) plans.push_back(make_plans(batch, settings, ranks));
    return plans;
  });
}

void PlanAhead::post() {
  if (!begun_ || posted_) return;
  posted_ = true;
  if (group_.rank() != 0) return;
  std::vector<MadePlans> plans;
  std::string text;  // empty: there are no plans, and rank 0 says why when it leaves
  try {
    plans = made_.get();
    text = plans_to_text(plans);
  } catch (...) {
    std::promise<std::vector<AgreedBatch>> failed;
    failed.set_exception(std::current_exception());
    agreed_ = failed.get_future();  // thrown where the plans are taken
  }
  const uint64_t bytes = text.size();
  for (Rank rank = 1; rank < group_.size(); ++rank) {
    sent_.emplace_back(group_, rank, kSizeTag, message_of(&bytes, sizeof(bytes)));
    sent_.emplace_back(group_, rank, kTextTag, message_of(text.data(), text.size()));
  }
  if (agreed_.valid()) return;
  agreed_ = std::async(std::launch::async, [plans = std::move(plans), &settings = settings_] {
    return compile_step(plans, settings, 0);
  });
}

void PlanAhead::receive() {
  if (!begun_ || received_) return;
  CADENZA_CHECK(posted_, "plans are received before rank 0 posts them");
  received_ = true;
  if (group_.rank() == 0) return;
  uint64_t bytes = 0;
  ExpectedMessage size(group_, 0, kSizeTag, sizeof(bytes));
  std::memcpy(&bytes, size.wait(deadline()).data(), sizeof(bytes));
  ExpectedMessage message(group_, 0, kTextTag, static_cast<int64_t>(bytes));
  const auto received = message.wait(deadline());
  std::string text(reinterpret_cast<const char*>(received.data()), received.size());
  if (text.empty()) return;
  agreed_ = std::async(std::launch::async,
                       [text = std::move(text), &settings = settings_, rank = group_.rank()] {
                         return compile_step(plans_from_text(text), settings, rank);
                       });
}

std::vector<AgreedBatch> PlanAhead::take(const StepLengths& lengths) {
  if (!begun_ || *begun_ != lengths) begin(lengths);
  post();
  receive();
  // Without plans rank 0 fails here and leaves; the others learn it when they compare hashes.
  std::vector<AgreedBatch> step;
  if (agreed_.valid()) step = agreed_.get();
  for (PostedMessage& message : sent_) message.wait(deadline());
  compare_hashes(step);
  forget();
  return step;
}

void PlanAhead::compare_hashes(const std::vector<AgreedBatch>& step) {
  const std::vector<std::string> hashes = all_gather(group_, hash_text(hash_of(step)), deadline());
  for (size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] == hashes[0]) continue;
    throw PlanError(cat("[engine] rank ", rank, " holds plans of hash ", hashes[rank],
                        ", rank 0 of ", hashes[0],
                        "; all ranks must run the same build of Cadenza"));
  }
}

}  // namespace cadenza
