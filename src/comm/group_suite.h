#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/cat.h"
#include "base/error.h"
#include "base/rng.h"
#include "comm/collectives.h"
#include "comm/group.h"
#include "comm/message.h"

// What every transport promises, written once: include this in ONE file of a transport's test
// program and INSTANTIATE_TEST_SUITE_P(Name, EveryTransport, testing::Values(Transport{...})).
namespace cadenza {

/// Makes one rank's end of a new group; called on that rank's thread.
using OpenRank = std::function<std::unique_ptr<Group>(Rank)>;

struct Transport {
  std::string name;
  std::function<OpenRank(int ranks)> open;  // one new group
};

inline void PrintTo(const Transport& transport, std::ostream* out) { *out << transport.name; }

inline std::string transport_name(const testing::TestParamInfo<Transport>& info) {
  return info.param.name;
}

namespace suite {

/// Long enough never to pass where nothing is wrong, short enough to see a hang.
inline Deadline patient() { return Deadline::after_seconds(60); }

inline std::vector<std::byte> filled(Rank source, Rank target, size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (size_t i = 0; i < bytes; ++i) {
    const size_t value = static_cast<size_t>(source * 31 + target * 7) + i * 13 + i / 251;
    data[i] = static_cast<std::byte>(value & 255);
  }
  return data;
}

template <typename T>
std::span<const std::byte> sent(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <typename T>
std::span<std::byte> received(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

/// A message of four bytes there and back: these two can still talk.
inline void expect_exchange(Group& group, Rank peer, Tag tag) {
  const std::vector<int> mine{1000 + group.rank()};
  std::vector<int> theirs{0};
  const auto receive = group.post_receive(peer, tag, received(theirs));
  const auto send = group.post_send(peer, tag, sent(mine));
  receive->wait(patient());
  send->wait(patient());
  EXPECT_EQ(theirs[0], 1000 + peer);
}

/// The PeerError that `wait` ends with; a failure of the test when it ends otherwise.
inline PeerError peer_error_of(const std::function<void()>& wait) {
  try {
    wait();
  } catch (const PeerError& error) {
    return error;
  }
  ADD_FAILURE() << "expected a PeerError, got none";
  return PeerError(-1, "none");
}

}  // namespace suite

class EveryTransport : public testing::TestWithParam<Transport> {
 protected:
  /// Runs body on one thread a rank. An exception is a failure of the test.
  void on_ranks(int ranks, const std::function<void(Group&)>& body) {
    const OpenRank open = GetParam().open(ranks);
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(*open(rank));
        } catch (const std::exception& error) {
          ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
      });
    }
    for (auto& thread : threads) thread.join();
  }
};

TEST_P(EveryTransport, DeliversEachByteFromItsSourceToItsPlace) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4097}, size_t{1} << 20}) {
    on_ranks(4, [&](Group& group) {
      std::vector<std::vector<std::byte>> out(4), in(4);
      std::vector<std::unique_ptr<Transfer>> transfers;
      for (Rank peer = 0; peer < 4; ++peer) {
        if (peer == group.rank()) continue;
        const auto p = static_cast<size_t>(peer);
        out[p] = suite::filled(group.rank(), peer, bytes);
        in[p].resize(bytes);
        transfers.push_back(group.post_receive(peer, 3, suite::received(in[p])));
        transfers.push_back(group.post_send(peer, 3, suite::sent(out[p])));
      }
      for (auto& transfer : transfers) transfer->wait(suite::patient());
      for (Rank peer = 0; peer < 4; ++peer) {
        if (peer == group.rank()) continue;
        EXPECT_TRUE(in[static_cast<size_t>(peer)] == suite::filled(peer, group.rank(), bytes))
            << bytes << " bytes from rank " << peer << " at rank " << group.rank();
      }
    });
  }
}

TEST_P(EveryTransport, KeepsTagsApartInWhateverOrderTheyArePosted) {
  constexpr int kTags = 24;
  on_ranks(2, [&](Group& group) {
    const Rank peer = 1 - group.rank();
    std::vector<std::vector<int>> out(kTags), in(kTags, std::vector<int>{-1});
    std::vector<std::unique_ptr<Transfer>> sends(kTags), receives(kTags);
    for (size_t t = 0; t < kTags; ++t) {
      const auto tag = static_cast<Tag>(t);
      const size_t back = kTags - 1 - t;
      out[back] = {group.rank() * 100 + static_cast<int>(back)};
      receives[t] = group.post_receive(peer, tag, suite::received(in[t]));
      sends[back] = group.post_send(peer, static_cast<Tag>(back), suite::sent(out[back]));
    }
    for (size_t t = 0; t < kTags; ++t) receives[t * 7 % kTags]->wait(suite::patient());
    for (auto& send : sends) send->wait(suite::patient());
    for (size_t t = 0; t < kTags; ++t) EXPECT_EQ(in[t][0], peer * 100 + static_cast<int>(t));
  });
}

TEST_P(EveryTransport, KeepsTheOrderOfPostsWithinATag) {
  constexpr size_t kMessages = 40;
  const auto size_of = [](size_t k) { return 1 + k * 37 % 5; };  // several of each size
  on_ranks(2, [&](Group& group) {
    std::vector<std::vector<size_t>> data(kMessages);
    std::vector<std::unique_ptr<Transfer>> transfers;
    for (size_t k = 0; k < kMessages; ++k) {
      data[k].assign(size_of(k), group.rank() == 0 ? k : 0);
      transfers.push_back(group.rank() == 0 ? group.post_send(1, 5, suite::sent(data[k]))
                                            : group.post_receive(0, 5, suite::received(data[k])));
    }
    for (size_t k = kMessages; k-- > 0;) transfers[k]->wait(suite::patient());
    for (size_t k = 0; k < kMessages; ++k) {
      EXPECT_EQ(data[k], std::vector<size_t>(size_of(k), k)) << "message " << k;
    }
  });
}

TEST_P(EveryTransport, CompletesAThousandEmptyExchanges) {
  on_ranks(3, [&](Group& group) {
    for (int i = 0; i < 1000; ++i) {
      std::vector<std::unique_ptr<Transfer>> transfers;
      for (Rank peer = 0; peer < 3; ++peer) {
        if (peer == group.rank()) continue;
        transfers.push_back(group.post_receive(peer, 1, {}));
        transfers.push_back(group.post_send(peer, 1, {}));
      }
      for (auto& transfer : transfers) transfer->wait(suite::patient());
    }
    if (group.rank() != 1) suite::expect_exchange(group, 2 - group.rank(), 1);
  });
}

TEST_P(EveryTransport, LetsOneRankSendToOneOtherOnly) {
  on_ranks(3, [&](Group& group) {
    std::vector<int> data(1000);
    if (group.rank() == 2) {
      std::iota(data.begin(), data.end(), 7);
      group.post_send(0, 1, suite::sent(data))->wait(suite::patient());
    } else if (group.rank() == 0) {
      group.post_receive(2, 1, suite::received(data))->wait(suite::patient());
      std::vector<int> expected(1000);
      std::iota(expected.begin(), expected.end(), 7);
      EXPECT_EQ(data, expected);
    }
  });
}

TEST_P(EveryTransport, SurvivesRandomSizesAndDelays) {
  constexpr uint64_t kSeed = 20240613;
  SCOPED_TRACE(cat("seed ", kSeed));
  constexpr int kRanks = 3;
  on_ranks(kRanks, [&](Group& group) {
    Rng sizes(kSeed);  // the same on all ranks
    Rng delays(kSeed + 1 + static_cast<uint64_t>(group.rank()));
    for (int64_t iteration = 0; iteration < 500; ++iteration) {
      std::vector<std::vector<double>> out(kRanks), in(kRanks);
      std::vector<std::unique_ptr<Transfer>> transfers;
      for (Rank source = 0; source < kRanks; ++source) {
        for (Rank target = 0; target < kRanks; ++target) {
          const size_t rows = uniform_below(sizes, 3) == 0 ? 0 : uniform_below(sizes, 200);
          if (source == target) continue;
          if (source == group.rank()) {
            auto& data = out[static_cast<size_t>(target)];
            for (size_t row = 0; row < rows; ++row) {
              data.push_back(static_cast<double>(iteration) * 1e6 + source * 1e4 +
                             static_cast<double>(row));
            }
            transfers.push_back(group.post_send(target, 9, suite::sent(data)));
          } else if (target == group.rank()) {
            auto& data = in[static_cast<size_t>(source)];
            data.resize(rows);
            transfers.push_back(group.post_receive(source, 9, suite::received(data)));
          }
          if (uniform_below(delays, 40) == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(uniform_below(delays, 300)));
          }
        }
      }
      for (auto& transfer : transfers) transfer->wait(suite::patient());
      for (size_t source = 0; source < kRanks; ++source) {
        for (size_t row = 0; row < in[source].size(); ++row) {
          ASSERT_EQ(in[source][row], static_cast<double>(iteration) * 1e6 +
                                         static_cast<double>(source) * 1e4 +
                                         static_cast<double>(row));
        }
      }
    }
  });
}

TEST_P(EveryTransport, FreesABufferForReuseWhenItsWaitReturns) {
  on_ranks(2, [&](Group& group) {
    std::vector<int> data(50000);
    for (int i = 0; i < 50; ++i) {
      if (group.rank() == 0) {
        std::fill(data.begin(), data.end(), i);
        group.post_send(1, 4, suite::sent(data))->wait(suite::patient());
        std::fill(data.begin(), data.end(), -1);
      } else {
        group.post_receive(0, 4, suite::received(data))->wait(suite::patient());
        const auto is_i = [i](int value) { return value == i; };
        ASSERT_TRUE(std::all_of(data.begin(), data.end(), is_i)) << "message " << i;
      }
    }
  });
}

TEST_P(EveryTransport, NamesThePeerWhenADeadlinePassesAndLeavesTheOthersUsable) {
  std::latch done(2);
  on_ranks(3, [&](Group& group) {
    if (group.rank() == 0) {
      std::vector<std::byte> data(16);
      const auto error = suite::peer_error_of(
          [&] { group.post_receive(1, 8, data)->wait(Deadline::after_seconds(0.2)); });
      EXPECT_EQ(error.peer(), 1);
      EXPECT_THAT(error.what(), testing::HasSubstr("rank 0 waited"));
      EXPECT_THAT(error.what(), testing::HasSubstr("16 bytes (tag 8) from rank 1"));
      EXPECT_THAT(error.what(), testing::HasSubstr("the deadline passed"));
    }
    if (group.rank() != 1) suite::expect_exchange(group, 2 - group.rank(), 6);
    if (group.rank() == 1) {
      done.wait();
    } else {
      done.count_down();
    }
  });
}

TEST_P(EveryTransport, EndsTheWaitForASendThatNobodyReceives) {
  std::latch done(1);
  on_ranks(2, [&](Group& group) {
    if (group.rank() == 1) return done.wait();
    const std::vector<int> data(1000, 1);
    const auto error = suite::peer_error_of(
        [&] { group.post_send(1, 8, suite::sent(data))->wait(Deadline::after_seconds(0.2)); });
    EXPECT_EQ(error.peer(), 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("to rank 1"));
    done.count_down();
  });
}

TEST_P(EveryTransport, CanWaitAgainAfterADeadline) {
  std::latch late(1);
  on_ranks(2, [&](Group& group) {
    std::vector<int> data{42};
    if (group.rank() == 1) {
      late.wait();
      group.post_send(0, 8, suite::sent(data))->wait(suite::patient());
      return;
    }
    data[0] = 0;
    const auto receive = group.post_receive(1, 8, suite::received(data));
    EXPECT_THROW(receive->wait(Deadline::after_seconds(0.1)), PeerError);
    late.count_down();
    receive->wait(suite::patient());
    EXPECT_EQ(data[0], 42);
  });
}

TEST_P(EveryTransport, EndsTheWaitsForARankThatLeavesAndQuotesItsReason) {
  on_ranks(3, [&](Group& group) {
    if (group.rank() == 1) return group.leave("[train] loss is not finite");
    std::vector<int> data{0};
    const auto error = suite::peer_error_of(
        [&] { group.post_receive(1, 8, suite::received(data))->wait(suite::patient()); });
    EXPECT_EQ(error.peer(), 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 1 left: [train] loss is not finite"));
    suite::expect_exchange(group, 2 - group.rank(), 6);
  });
}

TEST_P(EveryTransport, EndsTheWaitsForARankThatHasEnded) {
  on_ranks(2, [&](Group& group) {
    if (group.rank() == 1) return;
    std::vector<int> data{0};
    const auto error = suite::peer_error_of(
        [&] { group.post_receive(1, 8, suite::received(data))->wait(suite::patient()); });
    EXPECT_EQ(error.peer(), 1);
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("the deadline passed")));
  });
}

TEST_P(EveryTransport, RefusesAReceiveOfAnotherSize) {
  for (const size_t expected : {size_t{3}, size_t{5}, size_t{400000}}) {
    on_ranks(2, [&](Group& group) {
      std::vector<std::byte> data(group.rank() == 0 ? 4 : expected);
      const auto transfer = group.rank() == 0 ? group.post_send(1, 8, suite::sent(data))
                                              : group.post_receive(0, 8, suite::received(data));
      EXPECT_THROW(transfer->wait(Deadline::after_seconds(0.3)), Error) << expected << " for 4";
    });
  }
}

TEST_P(EveryTransport, DeliversMessagesThatOwnTheirBytes) {
  on_ranks(3, [&](Group& group) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4097}, size_t{1} << 20}) {
      std::vector<ExpectedMessage> expected;
      std::vector<PostedMessage> posted;
      const auto before = Deadline::Clock::now();
      for (Rank peer = 0; peer < 3; ++peer) {
        if (peer == group.rank()) continue;
        expected.emplace_back(group, peer, 3, static_cast<int64_t>(bytes));
        Message message(static_cast<int64_t>(bytes));
        std::ranges::copy(suite::filled(group.rank(), peer, bytes), message.data());
        posted.emplace_back(group, peer, 3, std::move(message));
      }
      for (ExpectedMessage& message : expected) {
        const auto got = message.wait(suite::patient());
        EXPECT_TRUE(std::ranges::equal(got, suite::filled(message.peer(), group.rank(), bytes)));
        EXPECT_LE(message.posted_at(), Deadline::Clock::now());
        EXPECT_LT(before - message.posted_at(), std::chrono::seconds(60));
      }
      for (PostedMessage& message : posted) message.wait(suite::patient());
    }
  });
}

namespace suite {

/// A number to a peer.
inline PostedMessage post_number(Group& group, Rank peer, Tag tag, int number) {
  Message message(sizeof(number));
  std::memcpy(message.data(), &number, sizeof(number));
  return {group, peer, tag, std::move(message)};
}

inline int number_in(std::span<const std::byte> bytes) {
  int number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

}  // namespace suite

TEST_P(EveryTransport, SaysWhenAMessageWasPosted) {
  std::atomic<int64_t> least{0}, most{0};
  const auto now = [] { return Deadline::Clock::now().time_since_epoch().count(); };
  on_ranks(2, [&](Group& group) {
    if (group.rank() == 1) {
      least = now();
      PostedMessage message = suite::post_number(group, 0, 5, 17);
      most = now();
      message.wait(suite::patient());
      barrier(group, suite::patient());
      return;
    }
    ExpectedMessage message(group, 1, 5, sizeof(int));
    EXPECT_EQ(suite::number_in(message.wait(suite::patient())), 17);
    EXPECT_GE(message.posted_at().time_since_epoch().count(), least);
    barrier(group, suite::patient());
    EXPECT_LE(message.posted_at().time_since_epoch().count(), most);
  });
}

TEST_P(EveryTransport, TakesTheMessageThatIsThereFirst) {
  constexpr int kRounds = 20;
  for (const int ranks : {3, 4}) {
    on_ranks(ranks, [&](Group& group) {
      // Ranks send one after the other, from the last on: each when rank 0 has the one before.
      if (group.rank() > 0) {
        for (int round = 0; round < kRounds; ++round) {
          ExpectedMessage go(group, 0, 1, sizeof(int));
          go.wait(suite::patient());
          suite::post_number(group, 0, 2, group.rank()).wait(suite::patient());
        }
        return;
      }
      for (int round = 0; round < kRounds; ++round) {
        std::vector<ExpectedMessage> messages;
        for (Rank peer = 1; peer < ranks; ++peer)
          messages.emplace_back(group, peer, 2, sizeof(int));
        std::vector<ExpectedMessage*> waiting;
        for (ExpectedMessage& message : messages) waiting.push_back(&message);
        for (Rank next = ranks - 1; next > 0; --next) {
          suite::post_number(group, next, 1, 0).wait(suite::patient());
          const size_t first = wait_any(group, waiting, suite::patient());
          ASSERT_EQ(waiting[first]->peer(), next);
          EXPECT_EQ(suite::number_in(waiting[first]->wait(suite::patient())), next);
          waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(first));
        }
      }
    });
  }
}

TEST_P(EveryTransport, EndsAWaitForAnyOfSeveralPeers) {
  std::latch done(2);
  on_ranks(3, [&](Group& group) {
    if (group.rank() == 0) {
      ExpectedMessage one(group, 1, 8, sizeof(int)), two(group, 2, 8, sizeof(int));
      ExpectedMessage* const both[] = {&one, &two};
      const auto late =
          suite::peer_error_of([&] { wait_any(group, both, Deadline::after_seconds(0.2)); });
      EXPECT_THAT(late.what(), testing::HasSubstr("the deadline passed"));
      suite::expect_exchange(group, 2, 6);  // nobody is worse off
      suite::expect_exchange(group, 1, 6);
      const auto left = suite::peer_error_of([&] { wait_any(group, both, suite::patient()); });
      EXPECT_EQ(left.peer(), 1);
      EXPECT_THAT(left.what(), testing::HasSubstr("had enough"));
      done.count_down();
      return;
    }
    suite::expect_exchange(group, 0, 6);
    if (group.rank() == 1) {
      group.leave("had enough");
      done.count_down();
    } else {
      done.wait();
    }
  });
}

TEST_P(EveryTransport, HoldsAllRanksAtABarrierUntilTheLastHasCome) {
  for (const int ranks : {1, 2, 4}) {
    std::atomic<int> arrived{0};
    on_ranks(ranks, [&](Group& group) {
      for (int round = 1; round <= 20; ++round) {
        ++arrived;
        barrier(group, suite::patient());
        EXPECT_GE(arrived.load(), round * ranks);
      }
    });
  }
}

TEST_P(EveryTransport, BroadcastsTheRootsBytes) {
  on_ranks(3, [&](Group& group) {
    for (Rank root = 0; root < 3; ++root) {
      for (const size_t bytes : {size_t{0}, size_t{1}, size_t{100001}}) {
        const std::string text(bytes, static_cast<char>('a' + root));
        const std::string mine = group.rank() == root ? text : "something else";
        EXPECT_EQ(broadcast(group, root, mine, suite::patient()), text);
      }
    }
  });
}

TEST_P(EveryTransport, GathersWhatEachRankGaveInItsPlace) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    on_ranks(ranks, [&](Group& group) {
      const auto text_of = [](Rank rank) {
        return std::string(static_cast<size_t>(rank * 7), 'x');
      };
      const auto all = all_gather(group, text_of(group.rank()) + "!", suite::patient());
      const auto partly_empty = all_gather(group, text_of(group.rank()), suite::patient());
      ASSERT_EQ(all.size(), static_cast<size_t>(ranks));
      for (Rank rank = 0; rank < ranks; ++rank) {
        EXPECT_EQ(all[static_cast<size_t>(rank)], text_of(rank) + "!");
        EXPECT_EQ(partly_empty[static_cast<size_t>(rank)], text_of(rank));
      }
    });
  }
}

namespace suite {

/// Values whose sum depends on the order of addition in its last bits.
template <typename T>
std::vector<T> summands(Rank rank, size_t size) {
  std::vector<T> values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = static_cast<T>(rank % 2 == 0 ? 1 : -1) / static_cast<T>(3 + rank * 17 + i);
  }
  return values;
}

template <typename T>
void expect_rank_order_sum(Group& group, size_t size) {
  std::vector<T> expected = summands<T>(0, size);
  for (Rank rank = 1; rank < group.size(); ++rank) {
    const auto more = summands<T>(rank, size);
    for (size_t i = 0; i < size; ++i) expected[i] += more[i];
  }
  std::vector<T> values = summands<T>(group.rank(), size);
  all_reduce_sum(group, std::span<T>(values), patient());
  EXPECT_EQ(0, size == 0 ? 0 : std::memcmp(values.data(), expected.data(), size * sizeof(T)))
      << size << " values on " << group.size() << " ranks";
}

}  // namespace suite

TEST_P(EveryTransport, SumsInRankOrderToTheSameBitsOnAllRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    on_ranks(ranks, [&](Group& group) {
      for (const size_t size : {0, 1, 2, 3, 5, 10007}) {
        suite::expect_rank_order_sum<float>(group, size);
        suite::expect_rank_order_sum<double>(group, size);
      }
    });
  }
}

TEST_P(EveryTransport, EndsACollectiveWithAnErrorNamingTheRankThatLeft) {
  std::latch both_have_failed(2);  // else the first to end could be the one that the other names
  on_ranks(3, [&](Group& group) {
    if (group.rank() == 2) return group.leave("gone fishing");
    const auto error = suite::peer_error_of([&] { barrier(group, suite::patient()); });
    EXPECT_THAT(error.what(), testing::HasSubstr("gone fishing"));
    EXPECT_EQ(error.peer(), 2);
    both_have_failed.arrive_and_wait();
  });
}

}  // namespace cadenza
