#include "comm/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/error.h"

namespace cadenza {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Environment = std::map<std::string, std::string>;

/// Every variable that is read, so that the launcher of the tests themselves does not show.
constexpr const char* kVariables[] = {"RANK",
                                      "WORLD_SIZE",
                                      "LOCAL_RANK",
                                      "LOCAL_WORLD_SIZE",
                                      "MASTER_ADDR",
                                      "MASTER_PORT",
                                      "TORCHELASTIC_USE_AGENT_STORE",
                                      "TORCHELASTIC_RUN_ID",
                                      "CADENZA_LAUNCHER",
                                      "OMPI_COMM_WORLD_RANK",
                                      "OMPI_COMM_WORLD_SIZE",
                                      "OMPI_COMM_WORLD_LOCAL_RANK",
                                      "OMPI_COMM_WORLD_LOCAL_SIZE",
                                      "SLURM_PROCID",
                                      "SLURM_NTASKS",
                                      "SLURM_LOCALID",
                                      "SLURM_NTASKS_PER_NODE",
                                      "SLURM_STEP_TASKS_PER_NODE",
                                      "SLURM_STEP_NUM_TASKS",
                                      "SLURM_STEP_ID",
                                      "SLURM_STEPID",
                                      "SLURM_JOB_ID"};

std::optional<Rendezvous> read_from(const Environment& environment) {
  for (const char* name : kVariables) unsetenv(name);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  return rendezvous_from_environment();
}

auto refuses(const std::string& name) { return ThrowsMessage<ConfigError>(HasSubstr(name)); }

TEST(Rendezvous, IsNothingWithoutALauncher) {
  EXPECT_FALSE(read_from({}));
  EXPECT_FALSE(read_from({{"MASTER_ADDR", "somewhere"}, {"MASTER_PORT", "1"}}));
}

TEST(Rendezvous, ReadsTorchrun) {
  const auto r = read_from({{"RANK", "5"},
                            {"WORLD_SIZE", "8"},
                            {"LOCAL_RANK", "1"},
                            {"LOCAL_WORLD_SIZE", "4"},
                            {"MASTER_ADDR", "node0"},
                            {"MASTER_PORT", "1234"},
                            {"TORCHELASTIC_RUN_ID", "x"},
                            {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->rank, 5);
  EXPECT_EQ(r->size, 8);
  EXPECT_EQ(r->local_rank, 1);
  EXPECT_EQ(r->local_size, 4);
  EXPECT_EQ(r->host, "node0");
  EXPECT_EQ(r->port, 1234);
  EXPECT_TRUE(r->store_is_served);
  EXPECT_EQ(r->launcher, "torchrun");
}

TEST(Rendezvous, ReadsOurOwnLauncherAlsoInsideAnother) {
  const auto r = read_from({{"RANK", "1"},
                            {"WORLD_SIZE", "2"},
                            {"MASTER_PORT", "1234"},
                            {"CADENZA_LAUNCHER", "1"},
                            {"SLURM_PROCID", "0"},
                            {"SLURM_NTASKS", "4"}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->launcher, "cadenza");
  EXPECT_EQ(r->rank, 1);
  EXPECT_EQ(r->local_size, 2);
  EXPECT_EQ(r->host, "127.0.0.1");
  EXPECT_FALSE(r->store_is_served);
}

TEST(Rendezvous, ReadsOpenMpiAndMeetsOnThisHostWhenAllRanksAreHere) {
  const auto r = read_from({{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "3"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->launcher, "mpirun");
  EXPECT_EQ(r->rank, 2);
  EXPECT_EQ(r->local_size, 3);
  EXPECT_EQ(r->host, "127.0.0.1");
  EXPECT_EQ(r->port, 29500);
}

TEST(Rendezvous, NeedsAHostWhenRanksAreOnSeveral) {
  EXPECT_THAT(
      [] {
        read_from({{"OMPI_COMM_WORLD_RANK", "2"},
                   {"OMPI_COMM_WORLD_SIZE", "4"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
      },
      refuses("MASTER_ADDR"));
}

TEST(Rendezvous, ReadsSlurm) {
  const Environment srun{{"SLURM_JOB_ID", "7"},          {"SLURM_STEP_ID", "0"},
                         {"SLURM_PROCID", "5"},          {"SLURM_NTASKS", "7"},
                         {"SLURM_LOCALID", "1"},         {"SLURM_STEP_TASKS_PER_NODE", "4,3"},
                         {"SLURM_STEP_NUM_TASKS", "7"},  {"MASTER_ADDR", "node0"},
                         {"SLURM_NTASKS_PER_NODE", "4"}, {"MASTER_PORT", "4321"}};
  const auto r = read_from(srun);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->launcher, "srun");
  EXPECT_EQ(r->rank, 5);
  EXPECT_EQ(r->size, 7);
  EXPECT_EQ(r->local_rank, 1);
  EXPECT_EQ(r->local_size, 4);
  EXPECT_EQ(r->port, 4321);
  Environment without_request = srun;
  without_request.erase("SLURM_NTASKS_PER_NODE");
  EXPECT_EQ(read_from(without_request)->local_size, 4);
}

TEST(Rendezvous, TakesASlurmShellForASingleProcess) {
  EXPECT_FALSE(read_from({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}));
  EXPECT_FALSE(read_from({{"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}}));
  const Environment batch_script{
      {"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
  EXPECT_FALSE(read_from(batch_script));
  const Environment interactive_step{{"SLURM_JOB_ID", "7"},
                                     {"SLURM_STEP_ID", "4294967290"},
                                     {"SLURM_STEP_NUM_TASKS", "1"},
                                     {"SLURM_PROCID", "0"},
                                     {"SLURM_NTASKS", "4"}};
  EXPECT_FALSE(read_from(interactive_step));
}

TEST(Rendezvous, RefusesWhatIsHalfSet) {
  EXPECT_THAT([] { read_from({{"RANK", "0"}}); }, refuses("WORLD_SIZE"));
  EXPECT_THAT([] { read_from({{"WORLD_SIZE", "2"}}); }, refuses("expected RANK"));
  EXPECT_THAT([] { read_from({{"OMPI_COMM_WORLD_SIZE", "2"}}); }, refuses("OMPI_COMM_WORLD_RANK"));
  EXPECT_THAT([] { read_from({{"RANK", "0"}, {"WORLD_SIZE", "2"}}); }, refuses("MASTER_PORT"));
  EXPECT_THAT(
      [] {
        read_from({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "2"}});
      },
      refuses("LOCAL_RANK"));
}

TEST(Rendezvous, RefusesWhatContradicts) {
  EXPECT_THAT([] { read_from({{"RANK", "2"}, {"WORLD_SIZE", "2"}}); }, refuses("RANK below"));
  EXPECT_THAT([] { read_from({{"RANK", "x"}, {"WORLD_SIZE", "2"}}); }, refuses("RANK"));
  EXPECT_THAT([] { read_from({{"RANK", "0"}, {"WORLD_SIZE", "0"}}); }, refuses("WORLD_SIZE"));
  EXPECT_THAT(
      [] {
        read_from({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "70000"}});
      },
      refuses("MASTER_PORT"));
  EXPECT_THAT(
      [] {
        read_from({{"RANK", "0"},
                   {"WORLD_SIZE", "1"},
                   {"OMPI_COMM_WORLD_RANK", "3"},
                   {"OMPI_COMM_WORLD_SIZE", "4"}});
      },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("OMPI_COMM_WORLD_RANK"), HasSubstr("3 of 4"))));
}

}  // namespace
}  // namespace cadenza
