#include "testing/spawn_ranks.h"

#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "comm/inproc.h"

namespace cadenza {
namespace {

std::exception_ptr run_rank(Group& group, const std::function<void(Group&)>& body) {
  set_log_rank(group.rank());
  try {
    body(group);
    return nullptr;
  } catch (const std::exception& error) {
    group.leave(error.what());
    return std::current_exception();
  } catch (...) {
    group.leave("an exception of unknown type");
    return std::current_exception();
  }
}

bool is_peer_error(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerError&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// A PeerError is mostly the echo of another rank's failure, so it comes last.
void rethrow_first(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr echo;
  for (const auto& error : errors) {
    if (!error) continue;
    if (!is_peer_error(error)) std::rethrow_exception(error);
    if (!echo) echo = error;
  }
  if (echo) std::rethrow_exception(echo);
}

}  // namespace

void spawn_ranks(int ranks, const std::function<void(Group&)>& body) {
  auto groups = make_inproc_groups(ranks);
  std::vector<std::exception_ptr> errors(groups.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < groups.size(); ++rank) {
    threads.emplace_back([&errors, &body, rank, group = std::move(groups[rank])]() mutable {
      errors[rank] = run_rank(*group, body);
      group.reset();  // a rank that has ended has left
    });
  }
  for (auto& thread : threads) thread.join();
  rethrow_first(errors);
}

}  // namespace cadenza
