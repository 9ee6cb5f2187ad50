#include "runtime/exchange.h"

#include "base/check.h"
#include "runtime/stopwatch.h"

namespace cadenza {
namespace {

std::span<const std::byte> bytes_of(const HostBlock& block) {
  return {block.data(), static_cast<size_t>(block.bytes())};
}

}  // namespace

int64_t Exchange::message_bytes(const PeerRows& peer, std::span<const ExchangePart> parts) const {
  int64_t bytes = 0;
  for (const ExchangePart& part : parts) {
    bytes += Backend::packed_bytes(part.view, runs_of(peer, part.rows));
  }
  return bytes;
}

void Exchange::expect(std::span<const PeerRows> peers, std::span<const ExchangePart> shapes) {
  shapes_.assign(shapes.begin(), shapes.end());
  for (const PeerRows& peer : peers) {
    Message& message = receives_.emplace_back(Message{&peer, {}, nullptr});
    if (peer.peer == group_.rank()) continue;
    message.block = HostBlock(message_bytes(peer, shapes));
    message.transfer = group_.post_receive(
        peer.peer, tag_, {message.block.data(), static_cast<size_t>(message.block.bytes())});
  }
}

void Exchange::send(std::span<const PeerRows> peers, std::span<const ExchangePart> parts) {
  for (const PeerRows& peer : peers) {
    HostBlock block(message_bytes(peer, parts));
    {
      const Stopwatch packing(times_.pack_seconds);
      std::byte* out = block.data();
      for (const ExchangePart& part : parts) {
        const auto runs = runs_of(peer, part.rows);
        backend_.pack_rows(part.view, runs, out);
        out += Backend::packed_bytes(part.view, runs);
      }
    }
    if (peer.peer == group_.rank()) {
      to_self_ = std::move(block);
      continue;
    }
    times_.sent_bytes += block.bytes();
    auto transfer = group_.post_send(peer.peer, tag_, bytes_of(block));
    sends_.push_back({&peer, std::move(block), std::move(transfer)});
  }
}

void Exchange::receive(double deadline_seconds, const Consume& consume) {
  for (Message& message : receives_) {
    if (message.transfer != nullptr) {
      wait(*message.transfer, deadline_seconds);
      message.transfer.reset();
    } else {
      message.block = std::move(to_self_);
    }
    CADENZA_CHECK(message.block.bytes() == message_bytes(*message.peer, shapes_),
                  "message of rank ", message.peer->peer);
    const Stopwatch unpacking(times_.pack_seconds);
    std::vector<const std::byte*> parts;
    const std::byte* at = message.block.data();
    for (const ExchangePart& shape : shapes_) {
      parts.push_back(at);
      at += Backend::packed_bytes(shape.view, runs_of(*message.peer, shape.rows));
    }
    consume(*message.peer, parts);
    message.block = HostBlock();
  }
  receives_.clear();
}

void Exchange::finish(double deadline_seconds) {
  for (Message& message : sends_) wait(*message.transfer, deadline_seconds);
  sends_.clear();
}

void Exchange::wait(Transfer& transfer, double deadline_seconds) {
  const Stopwatch waiting(times_.wait_seconds);
  transfer.wait(Deadline::after_seconds(deadline_seconds));
}

}  // namespace cadenza
