#include "comm/inproc.h"

#include <csignal>
#include <cstdlib>

#include "base/interrupt.h"
#include "comm/group_suite.h"

namespace cadenza {
namespace {

OpenRank open_inproc(int ranks) {
  auto groups = std::make_shared<std::vector<std::unique_ptr<Group>>>(make_inproc_groups(ranks));
  return [groups](Rank rank) { return std::move((*groups)[static_cast<size_t>(rank)]); };
}

INSTANTIATE_TEST_SUITE_P(Inproc, EveryTransport, testing::Values(Transport{"inproc", open_inproc}),
                         transport_name);

TEST(Inproc, DeliversWhatWasPostedBeforeLeaving) {
  auto groups = make_inproc_groups(2);
  {
    const std::vector<int> data{7};
    const auto send = groups[1]->post_send(0, 2, suite::sent(data));
    groups[1]->leave("done");
  }
  std::vector<int> data{0};
  groups[0]->post_receive(1, 2, suite::received(data))->wait(suite::patient());
  EXPECT_EQ(data[0], 7);
}

TEST(Inproc, NeverWritesIntoABufferWhoseTransferIsGone) {
  auto groups = make_inproc_groups(2);
  const std::vector<int> sent{7, 8};
  std::vector<int> first{0}, second{0};
  groups[0]->post_receive(1, 2, suite::received(first));
  const auto receive = groups[0]->post_receive(1, 2, suite::received(second));
  groups[1]->post_send(0, 2, suite::sent(sent).first(4))->wait(suite::patient());
  groups[1]->post_send(0, 2, suite::sent(sent).last(4))->wait(suite::patient());
  receive->wait(suite::patient());
  EXPECT_EQ(first[0], 0);
  EXPECT_EQ(second[0], 8);
}

TEST(Inproc, NamesBothSizesWhenTheyDiffer) {
  auto groups = make_inproc_groups(2);
  std::vector<std::byte> data(4);
  const auto send = groups[1]->post_send(0, 2, data);
  const auto receive = groups[0]->post_receive(1, 2, std::span(data).first(3));
  EXPECT_THAT(
      [&] { receive->wait(suite::patient()); },
      testing::ThrowsMessage<InternalError>(testing::HasSubstr(
          "rank 0 expected to receive 3 bytes (tag 2) from rank 1, but rank 1 posted 4 bytes")));
  EXPECT_THROW(send->wait(suite::patient()), InternalError);
}

TEST(Inproc, RefusesToPostToItselfOrToNobody) {
  auto groups = make_inproc_groups(2);
  EXPECT_THROW(groups[0]->post_send(0, 1, {}), InternalError);
  EXPECT_THROW(groups[0]->post_send(2, 1, {}), InternalError);
  EXPECT_THROW(groups[0]->post_receive(-1, 1, {}), InternalError);
}

void wait_interrupted() {
  install_interrupt_handler();
  auto groups = make_inproc_groups(2);
  std::vector<std::byte> data(4);
  const auto receive = groups[0]->post_receive(1, 2, data);
  std::raise(SIGINT);
  try {
    receive->wait(suite::patient());
  } catch (const Interrupted&) {
    std::exit(17);
  }
}

TEST(InprocDeathTest, EndsAWaitWhenTheUserAsksToStop) {
  EXPECT_EXIT(wait_interrupted(), testing::ExitedWithCode(17), "");
}

}  // namespace
}  // namespace cadenza
