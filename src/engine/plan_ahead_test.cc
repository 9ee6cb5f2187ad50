#include "engine/plan_ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <string_view>

#include "base/rng.h"
#include "testing/spawn_ranks.h"

namespace cadenza {
namespace {

PlanSettings settings_of(const char* strategy, ScheduleKind schedule = ScheduleKind::kPlain) {
  return {.strategy = find_strategy(strategy),
          .shape = {.heads = 6, .kv_heads = 2, .head_dim = 8, .dtype = Dtype::kFloat32},
          .tokens_per_rank = 400,
          .deadline_seconds = 20,
          .schedule = schedule};
}

StepLengths random_step(Rng& rng) {
  StepLengths step(static_cast<size_t>(uniform_between(rng, 1, 3)));
  for (BatchLengths& batch : step) {
    batch.resize(static_cast<size_t>(uniform_between(rng, 1, 5)));
    for (int64_t& length : batch) length = uniform_between(rng, 1, 70);
  }
  return step;
}

/// What all ranks took, by rank.
using Taken = std::vector<std::vector<AgreedBatch>>;

/// Every rank holds the same plans of these documents, and its own programs of them.
void expect_plans_of(const StepLengths& lengths, const Taken& taken) {
  for (size_t rank = 0; rank < taken.size(); ++rank) {
    ASSERT_EQ(taken[rank].size(), lengths.size());
    EXPECT_EQ(hash_of(taken[rank]), hash_of(taken[0]));
    for (size_t batch = 0; batch < lengths.size(); ++batch) {
      int64_t tokens = 0;
      for (const AgreedNanoBatch& nano : taken[rank][batch].nano_batches) {
        const RankProgram& program = nano.programs.front();
        EXPECT_EQ(program.rank, static_cast<Rank>(rank));
        EXPECT_EQ(program.home_rows, local_rows(nano.batch(), program.rank));
        for (size_t i = 0; i < nano.documents.size(); ++i) {
          EXPECT_EQ(nano.batch().documents[i].length,
                    lengths[batch][static_cast<size_t>(nano.documents[i])]);
          tokens += nano.batch().documents[i].queries.size();
        }
      }
      EXPECT_EQ(tokens, std::accumulate(lengths[batch].begin(), lengths[batch].end(), int64_t{0}));
    }
  }
}

class PlanAheadOf : public testing::TestWithParam<ScheduleKind> {};

TEST_P(PlanAheadOf, EveryStepIsThatOfItsLengthsBegunWithOrNot) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (const char* strategy : {"home", "cad", "ring"}) {
      Rng rng(static_cast<uint64_t>(ranks));
      std::vector<StepLengths> steps;
      for (int i = 0; i < 5; ++i) steps.push_back(random_step(rng));
      std::vector<Taken> taken(steps.size(), Taken(static_cast<size_t>(ranks)));
      const PlanSettings settings = settings_of(strategy, GetParam());
      spawn_ranks(ranks, [&](Group& group) {
        PlanAhead ahead(group, settings);
        for (size_t step = 0; step < steps.size(); ++step) {
          taken[step][static_cast<size_t>(group.rank())] = ahead.take(steps[step]);
          if (step + 1 == steps.size()) break;
          // Begun in time; begun, but never posted; begun with others; not begun.
          if (step % 4 != 3) ahead.begin(step % 4 == 2 ? steps[0] : steps[step + 1]);
          if (step % 4 == 1) continue;
          ahead.post();
          ahead.receive();
        }
      });
      for (size_t step = 0; step < steps.size(); ++step) expect_plans_of(steps[step], taken[step]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, PlanAheadOf,
                         testing::Values(ScheduleKind::kPlain, ScheduleKind::kPingPong),
                         [](const auto& instance) {
                           return instance.param == ScheduleKind::kPlain ? "plain" : "ping_pong";
                         });

TEST(PlanAhead, WhatAStrategyRefusesIsAnErrorOfItsOwnStep) {
  const PlanSettings settings = settings_of("cad");
  std::vector<std::string> messages(3);
  spawn_ranks(3, [&](Group& group) {
    PlanAhead ahead(group, settings);
    ahead.begin({{3000}});  // 3 x 400 tokens is the room
    ahead.post();
    ahead.receive();  // the step before goes on
    try {
      ahead.take({{3000}});
    } catch (const Error& error) {
      messages[static_cast<size_t>(group.rank())] = error.what();
      group.leave(error.what());
    }
  });
  for (const std::string& message : messages)
    EXPECT_THAT(message, testing::HasSubstr("room for 3000 tokens"));
}

/// Passes everything on, but changes one digit of the first long message that arrives: the plans.
class DamagingGroup final : public Group {
 public:
  explicit DamagingGroup(Group& group) : group_(group) {}
  const char* transport() const override { return group_.transport(); }
  Rank rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  std::unique_ptr<Transfer> post_send(Rank peer, Tag tag,
                                      std::span<const std::byte> data) override {
    return group_.post_send(peer, tag, data);
  }
  std::unique_ptr<Transfer> post_receive(Rank peer, Tag tag, std::span<std::byte> data) override {
    auto transfer = group_.post_receive(peer, tag, data);
    if (data.size() < 200) return transfer;
    return std::make_unique<Damaged>(std::move(transfer), data);
  }
  size_t wait_any(std::span<Transfer* const> transfers, Deadline deadline) override {
    return group_.wait_any(transfers, deadline);
  }
  void leave(const std::string& reason) override { group_.leave(reason); }

 private:
  class Damaged final : public Transfer {
   public:
    Damaged(std::unique_ptr<Transfer> transfer, std::span<std::byte> data)
        : transfer_(std::move(transfer)), data_(data) {}
    void wait(Deadline deadline) override {
      transfer_->wait(deadline);
      const std::string_view text(reinterpret_cast<const char*>(data_.data()), data_.size());
      data_[text.find("\"strategy\":\"") + 12] = std::byte{'x'};
    }

   private:
    std::unique_ptr<Transfer> transfer_;
    std::span<std::byte> data_;
  };
  Group& group_;
};

TEST(PlanAhead, RanksThatHoldOtherPlansAreNamed) {
  const PlanSettings settings = settings_of("cad");
  std::vector<std::string> messages(3);
  spawn_ranks(3, [&](Group& group) {
    DamagingGroup damaging(group);
    PlanAhead ahead(group.rank() == 2 ? damaging : group, settings);
    try {
      ahead.take({{100, 50}});
    } catch (const PlanError& error) {
      messages[static_cast<size_t>(group.rank())] = error.what();
    }
  });
  for (const std::string& message : messages)
    EXPECT_THAT(message, testing::HasSubstr("rank 2 holds plans of hash"));
}

TEST(MakePlans, KindsOfLayersShareHomesAndHaveMasksOfTheirOwn) {
  Rng rng(5);
  for (const char* strategy : {"home", "cad", "ring", "packed", "ulysses"}) {
    PlanSettings settings = settings_of(strategy);
    settings.kinds = {{Mask{}, 0.5},
                      {Mask{.kind = Mask::Kind::kWindow, .window = 9, .explicit_pieces = {}}, 0.5}};
    for (int round = 0; round < 20; ++round) {
      const BatchLengths lengths = random_step(rng).front();
      const MadePlans made = make_plans(lengths, settings, 3);
      for (const NanoBatchPlans& nano : made.nano_batches) {
        ASSERT_EQ(nano.plans.size(), 2u);
        for (size_t i = 0; i < nano.plans[0].batch.documents.size(); ++i) {
          const Document& first = nano.plans[0].batch.documents[i];
          const Document& second = nano.plans[1].batch.documents[i];
          EXPECT_EQ(first.shards, second.shards) << strategy;
          EXPECT_EQ(first.mask, settings.kinds[0].mask);
          EXPECT_EQ(second.mask, settings.kinds[1].mask);
        }
      }
      for (Rank rank = 0; rank < 3; ++rank) EXPECT_NO_THROW(compile_batch(made, settings, rank));
    }
  }
}

TEST(MakePlans, TextBringsPlansBack) {
  Rng rng(6);
  for (const ScheduleKind schedule : {ScheduleKind::kPlain, ScheduleKind::kPingPong}) {
    const PlanSettings settings = settings_of("cad", schedule);
    std::vector<MadePlans> plans;
    for (const BatchLengths& lengths : random_step(rng))
      plans.push_back(make_plans(lengths, settings, 4));
    const std::vector<MadePlans> back = plans_from_text(plans_to_text(plans));
    ASSERT_EQ(back.size(), plans.size());
    for (size_t i = 0; i < plans.size(); ++i) {
      EXPECT_EQ(back[i].seconds, plans[i].seconds);
      ASSERT_EQ(back[i].nano_batches.size(), plans[i].nano_batches.size());
      for (size_t nano = 0; nano < back[i].nano_batches.size(); ++nano) {
        EXPECT_EQ(back[i].nano_batches[nano].documents, plans[i].nano_batches[nano].documents);
      }
      EXPECT_EQ(hash_of({compile_batch(back[i], settings, 0)}),
                hash_of({compile_batch(plans[i], settings, 0)}));
    }
  }
}

}  // namespace
}  // namespace cadenza
