#include "attention/row_exchange.h"

#include <algorithm>

#include "base/check.h"

namespace cadenza {
namespace {

std::span<const RowRun> runs_of(const PeerRows& rows, RowKind kind) {
  return kind == RowKind::kQueries ? rows.q : rows.kv;
}

/// The entry of one rank, null where it has none.
const PeerRows* find_peer(std::span<const PeerRows> peers, Rank rank) {
  const auto found = std::ranges::find_if(peers, [&](const auto& p) { return p.peer == rank; });
  return found == peers.end() ? nullptr : &*found;
}

}  // namespace

int64_t RowExchange::bytes_of(const ExchangedTensor& tensor, const PeerRows& rows) const {
  int64_t row_heads = 0;
  for (const RowRun& run : runs_of(rows, tensor.rows))
    row_heads += run.rows.size() * run.heads.size();
  return row_heads * wire_bytes(tensor, shape_);
}

int64_t RowExchange::bytes_of(const PeerRows& rows) const {
  int64_t bytes = 0;
  for (const ExchangedTensor& tensor : contents_.tensors) bytes += bytes_of(tensor, rows);
  return bytes;
}

void RowExchange::expect(std::span<const PeerRows> from) {
  for (const PeerRows& rows : from) {
    const bool own = rows.peer == context_.group.rank();
    expected_.push_back({&rows, own ? nullptr
                                    : std::make_unique<ExpectedMessage>(context_.group, rows.peer,
                                                                        tag_, bytes_of(rows))});
  }
}

void RowExchange::send(std::span<const PeerRows> to, const TensorRows& buffers) {
  const LaneClock::Scope packing(context_.clock, Lane::kPack);
  for (const PeerRows& rows : to) {
    if (rows.peer == context_.group.rank()) continue;
    Message message(bytes_of(rows));
    std::byte* out = message.data();
    for (const ExchangedTensor& tensor : contents_.tensors) {
      const RowsView& view = buffers[tensor.tensor].view();
      CADENZA_CHECK(view.dtype == wire_dtype(tensor.type, shape_), tensor_name(tensor.tensor),
                    " in ", dtype_name(view.dtype));
      context_.backend.pack_rows(view, runs_of(rows, tensor.rows), out);
      out += bytes_of(tensor, rows);
    }
    context_.sent_bytes += message.bytes();
    sent_.emplace_back(context_.group, rows.peer, tag_, std::move(message));
  }
}

void RowExchange::place_own(std::span<const PeerRows> from, const TensorRows& rows,
                            std::span<const PeerRows> to, TensorRows& into) {
  const PeerRows* source = find_peer(from, context_.group.rank());
  const PeerRows* target = find_peer(to, context_.group.rank());
  CADENZA_CHECK((source == nullptr) == (target == nullptr), "rank ", context_.group.rank());
  if (source == nullptr) return;
  const LaneClock::Scope packing(context_.clock, Lane::kPack);
  for (const ExchangedTensor& tensor : contents_.tensors) {
    context_.backend.copy_rows(rows[tensor.tensor].view(), runs_of(*source, tensor.rows),
                               into[tensor.tensor].view(), runs_of(*target, tensor.rows));
  }
}

void RowExchange::receive(TensorRows& into) {
  std::vector<const PeerRows*> rows;
  std::vector<ExpectedMessage*> messages;
  for (const Expected& expected : expected_) {
    if (expected.message == nullptr) continue;
    rows.push_back(expected.rows);
    messages.push_back(expected.message.get());
  }
  while (!messages.empty()) {
    const size_t first = wait_for_first(messages);
    unpack(*rows[first], messages[first]->wait(context_.deadline()).data(), into);
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(first));
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(first));
  }
  expected_.clear();
}

void RowExchange::receive_sums(TensorRows& into, std::span<const PeerRows> own_from,
                               const TensorRows& own) {
  for (Expected& expected : expected_) {
    if (expected.message == nullptr) {
      const PeerRows* from = find_peer(own_from, context_.group.rank());
      CADENZA_CHECK(from != nullptr, "rank ", context_.group.rank());
      combine_own(*from, own, *expected.rows, into);
      continue;
    }
    combine(*expected.rows, wait(*expected.message).data(), into);
    expected.message.reset();
  }
  expected_.clear();
}

size_t RowExchange::wait_for_first(std::span<ExpectedMessage* const> messages) {
  LaneClock::Wait waiting(context_.clock);
  const size_t first = wait_any(context_.group, messages, context_.deadline());
  waiting.posted_at(messages[first]->posted_at());
  return first;
}

std::span<const std::byte> RowExchange::wait(ExpectedMessage& message) {
  LaneClock::Wait waiting(context_.clock);
  const auto bytes = message.wait(context_.deadline());
  waiting.posted_at(message.posted_at());
  return bytes;
}

void RowExchange::unpack(const PeerRows& rows, const std::byte* packed, TensorRows& into) {
  const LaneClock::Scope unpacking(context_.clock, Lane::kUnpack);
  for (const ExchangedTensor& tensor : contents_.tensors) {
    context_.backend.unpack_rows(packed, runs_of(rows, tensor.rows), into[tensor.tensor].view());
    packed += bytes_of(tensor, rows);
  }
}

void RowExchange::combine(const PeerRows& rows, const std::byte* packed, TensorRows& into) {
  const LaneClock::Scope unpacking(context_.clock, Lane::kUnpack);
  if (contents_.combine == Combine::kAdd) {
    for (const ExchangedTensor& tensor : contents_.tensors) {
      context_.backend.add_rows(packed, wire_dtype(tensor.type, shape_), runs_of(rows, tensor.rows),
                                into[tensor.tensor].view());
      packed += bytes_of(tensor, rows);
    }
    return;
  }
  const std::byte *o = nullptr, *lse = nullptr;
  for (const ExchangedTensor& tensor : contents_.tensors) {
    (tensor.tensor == RowTensor::kO ? o : lse) = packed;
    packed += bytes_of(tensor, rows);
  }
  context_.backend.merge_rows(o, wire_dtype(WireType::kRows, shape_), lse, rows.q,
                              into[RowTensor::kO].view(), into[RowTensor::kLse].view());
}

void RowExchange::combine_own(const PeerRows& from, const TensorRows& own, const PeerRows& to,
                              TensorRows& into) {
  const LaneClock::Scope unpacking(context_.clock, Lane::kUnpack);
  if (contents_.combine == Combine::kAdd) {
    for (const ExchangedTensor& tensor : contents_.tensors) {
      context_.backend.add_rows(own[tensor.tensor].view(), runs_of(from, tensor.rows),
                                runs_of(to, tensor.rows), into[tensor.tensor].view());
    }
    return;
  }
  context_.backend.merge_rows(own[RowTensor::kO].view(), own[RowTensor::kLse].view(), from.q, to.q,
                              into[RowTensor::kO].view(), into[RowTensor::kLse].view());
}

void RowExchange::finish() {
  for (PostedMessage& message : sent_) {
    const LaneClock::Scope waiting(context_.clock, Lane::kTransferWait);
    message.wait(context_.deadline());
  }
  sent_.clear();
}

}  // namespace cadenza
