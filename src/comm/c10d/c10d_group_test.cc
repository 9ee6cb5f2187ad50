#include "comm/c10d/c10d_group.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "base/interrupt.h"
#include "comm/group_suite.h"

namespace cadenza {
namespace {

/// A TCP port of this host on which nobody listens now.
int free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(listener);
  return ntohs(address.sin_port);
}

Rendezvous place(Rank rank, int size, int port) {
  return {.rank = rank, .size = size, .local_rank = rank, .local_size = size, .port = port};
}

OpenRank open_c10d(int ranks) {
  const int port = free_port();
  return [ranks, port](Rank rank) { return join_c10d(place(rank, ranks, port), suite::patient()); };
}

INSTANTIATE_TEST_SUITE_P(C10d, EveryTransport, testing::Values(Transport{"gloo", open_c10d}),
                         transport_name);

TEST(C10dJoin, SaysHowManyCameAndWhoIsMissing) {
  const int port = free_port();
  const auto join = [&](Rank rank) {
    const auto error = suite::peer_error_of(
        [&] { join_c10d(place(rank, 4, port), Deadline::after_seconds(0.5)); });
    EXPECT_THAT(error.what(), testing::HasSubstr("expected 4 ranks"));
    EXPECT_THAT(error.what(), testing::HasSubstr("got 2 within"));
    EXPECT_THAT(error.what(), testing::HasSubstr("missing: rank 1, 3"));
  };
  std::thread second([&] { join(2); });
  join(0);
  second.join();
}

TEST(C10dJoin, NamesRankZeroWhenItNeverComes) {
  const auto error = suite::peer_error_of(
      [&] { join_c10d(place(1, 2, free_port()), Deadline::after_seconds(0.3)); });
  EXPECT_EQ(error.peer(), 0);
  EXPECT_THAT(error.what(), testing::HasSubstr("MASTER_PORT"));
}

TEST(C10dJoin, RefusesASecondRankOfTheSameNumber) {
  const int port = free_port();
  std::thread server(
      [&] { EXPECT_THROW(join_c10d(place(0, 3, port), Deadline::after_seconds(1)), Error); });
  std::atomic<int> refused{0};
  const auto join = [&] {
    try {
      join_c10d(place(1, 3, port), Deadline::after_seconds(1));
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("a second one"));
      ++refused;
    } catch (const PeerError&) {
    }
  };
  std::thread twin(join);
  join();
  twin.join();
  server.join();
  EXPECT_EQ(refused.load(), 1);
}

TEST(C10dJoin, NeedsNoPeersForASingleRank) {
  const auto group = join_c10d(place(0, 1, 0), Deadline::after_seconds(1));
  barrier(*group, suite::patient());
  EXPECT_EQ(group->size(), 1);
}

// Ranks as processes, for what threads cannot show: this program again, as one rank of a scene.

/// Runs `scene` (a disabled test below) as `rank`; what it checks shows in its exit status.
pid_t start_rank(const std::string& scene, Rank rank, int port) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  setenv("CADENZA_TEST_RANK", std::to_string(rank).c_str(), 1);
  setenv("CADENZA_TEST_PORT", std::to_string(port).c_str(), 1);
  const std::string filter = "--gtest_filter=C10dScene.DISABLED_" + scene;
  execl("/proc/self/exe", "comm_c10d_test", filter.c_str(), "--gtest_also_run_disabled_tests",
        "--gtest_brief=1", nullptr);
  _exit(127);
}

std::unique_ptr<Group> join_scene() {
  const int rank = std::atoi(std::getenv("CADENZA_TEST_RANK"));
  const int port = std::atoi(std::getenv("CADENZA_TEST_PORT"));
  return join_c10d(place(rank, 3, port), suite::patient());
}

bool in_a_scene() { return std::getenv("CADENZA_TEST_RANK") != nullptr; }

int status_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

/// Ranks 0 and 1 after rank `victim` has fallen silent: an error that names it, and they go on.
void expect_to_go_on_without(Rank victim, Group& group, double deadline_seconds,
                             const std::string& why) {
  std::vector<int> data{0};
  const auto error = suite::peer_error_of([&] {
    group.post_receive(victim, 8, suite::received(data))
        ->wait(Deadline::after_seconds(deadline_seconds));
  });
  EXPECT_EQ(error.peer(), victim);
  EXPECT_THAT(error.what(), testing::HasSubstr(why));
  for (Rank peer = 0; peer < 3; ++peer) {
    if (peer == victim || peer == group.rank()) continue;
    for (Tag tag = 0; tag < 100; ++tag) suite::expect_exchange(group, peer, tag);
  }
}

void run_scene(Rank victim, int signal, double deadline_seconds, const std::string& why) {
  if (!in_a_scene()) GTEST_SKIP() << "a rank of another test";
  const auto group = join_scene();
  barrier(*group, suite::patient());
  if (group->rank() == victim) raise(signal);
  if (group->rank() != victim) expect_to_go_on_without(victim, *group, deadline_seconds, why);
}

TEST(C10dScene, DISABLED_KilledLast) { run_scene(2, SIGKILL, 60, "rank 2 is gone"); }
TEST(C10dScene, DISABLED_KilledStore) { run_scene(0, SIGKILL, 60, "rank 0 is gone"); }
TEST(C10dScene, DISABLED_Stopped) { run_scene(1, SIGSTOP, 0.5, "the deadline passed"); }

TEST(C10dScene, DISABLED_Interrupted) {
  if (!in_a_scene()) GTEST_SKIP() << "a rank of another test";
  install_interrupt_handler();
  const auto group = join_scene();
  barrier(*group, suite::patient());
  raise(SIGINT);
  std::vector<int> data{0};
  const auto receive = group->post_receive((group->rank() + 1) % 3, 8, suite::received(data));
  EXPECT_THROW(receive->wait(suite::patient()), Interrupted);
}

/// Plays `scene` with three processes; all but `victim` must end well.
void play(const std::string& scene, Rank victim, int port) {
  std::vector<pid_t> pids;
  for (Rank rank = 0; rank < 3; ++rank) pids.push_back(start_rank(scene, rank, port));
  for (Rank rank = 0; rank < 3; ++rank) {
    if (rank != victim) {
      EXPECT_EQ(status_of(pids[static_cast<size_t>(rank)]), 0) << "rank " << rank;
    }
  }
  if (victim < 0) return;
  kill(pids[static_cast<size_t>(victim)], SIGKILL);
  EXPECT_EQ(status_of(pids[static_cast<size_t>(victim)]), SIGKILL);
}

TEST(C10dProcesses, GoOnWithoutARankThatWasKilled) { play("KilledLast", 2, free_port()); }
TEST(C10dProcesses, GoOnWithoutTheRankThatServedTheStore) { play("KilledStore", 0, free_port()); }
TEST(C10dProcesses, GoOnWithoutARankThatIsStopped) { play("Stopped", 1, free_port()); }
TEST(C10dProcesses, StopWaitingWhenTheUserAsksTo) { play("Interrupted", -1, free_port()); }

}  // namespace
}  // namespace cadenza
