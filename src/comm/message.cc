#include "comm/message.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"

namespace cadenza {
namespace {

using Clock = Deadline::Clock;
using Stamp = Clock::rep;

constexpr int64_t kStampBytes = sizeof(Stamp);

int64_t block_bytes(int64_t bytes) { return bytes == 0 ? 0 : bytes + kStampBytes; }

std::span<std::byte> all_of(const HostBlock& block) {
  return {block.data(), static_cast<size_t>(block.bytes())};
}

}  // namespace

Message::Message(int64_t bytes) : bytes_(bytes), block_(block_bytes(bytes)) {}

PostedMessage::PostedMessage(Group& group, Rank peer, Tag tag, Message message)
    : message_(std::move(message)) {
  if (message_.bytes() == 0) return;
  const Stamp now = Clock::now().time_since_epoch().count();
  std::memcpy(message_.data() + message_.bytes(), &now, sizeof(now));
  transfer_ = group.post_send(peer, tag, all_of(message_.block_));
}

void PostedMessage::wait(Deadline deadline) {
  if (transfer_ == nullptr) return;
  transfer_->wait(deadline);
  transfer_.reset();
  message_ = Message(0);
}

ExpectedMessage::ExpectedMessage(Group& group, Rank peer, Tag tag, int64_t bytes)
    : peer_(peer), bytes_(bytes), block_(block_bytes(bytes)), posted_at_(Clock::now()) {
  if (bytes > 0) transfer_ = group.post_receive(peer, tag, all_of(block_));
}

std::span<const std::byte> ExpectedMessage::wait(Deadline deadline) {
  if (transfer_ != nullptr) {
    transfer_->wait(deadline);
    read_stamp();
  }
  return all_of(block_).first(static_cast<size_t>(bytes_));
}

void ExpectedMessage::read_stamp() {
  transfer_.reset();
  Stamp stamp = 0;
  std::memcpy(&stamp, block_.data() + bytes_, sizeof(stamp));
  posted_at_ = Clock::time_point(Clock::duration(stamp));
}

size_t wait_any(Group& group, std::span<ExpectedMessage* const> messages, Deadline deadline) {
  CADENZA_CHECK(!messages.empty());
  std::vector<Transfer*> transfers;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i]->transfer_ == nullptr) return i;
    transfers.push_back(messages[i]->transfer_.get());
  }
  const size_t first = group.wait_any(transfers, deadline);
  messages[first]->read_stamp();
  return first;
}

}  // namespace cadenza
