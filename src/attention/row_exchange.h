#pragma once

#include <memory>
#include <span>
#include <vector>

#include "attention/attention_context.h"
#include "attention/tensor_rows.h"
#include "comm/message.h"
#include "core/exchange_table.h"
#include "program/rank_program.h"

namespace cadenza {

/// One exchange of a layer between this rank and its peers: to every peer one message, the packed
/// rows of the exchange's tensors one after another, as the table has them. Rows that stay on this
/// rank go from buffer to buffer.
class RowExchange {
 public:
  /// `tag` is the same on both ends and differs between exchanges that are alive at once. `shape`
  /// must outlive it.
  RowExchange(AttentionContext& context, ExchangeContents contents, const ModelShape& shape,
              Tag tag)
      : context_(context), contents_(contents), shape_(shape), tag_(tag) {}

  /// Posts the receives. `from` must outlive the exchange.
  void expect(std::span<const PeerRows> from);
  /// Packs and posts what goes to other ranks. Buffers are in their dtype on the wire.
  void send(std::span<const PeerRows> to, const TensorRows& rows);
  /// Places this rank's own rows, those that both lists have for it.
  void place_own(std::span<const PeerRows> from, const TensorRows& rows,
                 std::span<const PeerRows> to, TensorRows& into);
  /// Places what others sent, whoever is there first.
  void receive(TensorRows& into);
  /// Merges or adds what came, in the order of ranks, which is that of `expect`'s list. This rank's
  /// own part is in `own`, by its entry of `own_from`.
  void receive_sums(TensorRows& into, std::span<const PeerRows> own_from, const TensorRows& own);
  /// Waits until what was sent may be freed, and frees it.
  void finish();

 private:
  struct Expected {
    const PeerRows* rows;
    std::unique_ptr<ExpectedMessage> message;  // null for this rank's own
  };
  int64_t bytes_of(const PeerRows& rows) const;
  int64_t bytes_of(const ExchangedTensor& tensor, const PeerRows& rows) const;
  size_t wait_for_first(std::span<ExpectedMessage* const> messages);
  std::span<const std::byte> wait(ExpectedMessage& message);
  void unpack(const PeerRows& rows, const std::byte* packed, TensorRows& into);
  void combine(const PeerRows& rows, const std::byte* packed, TensorRows& into);
  void combine_own(const PeerRows& from, const TensorRows& own, const PeerRows& to,
                   TensorRows& into);

  AttentionContext& context_;
  ExchangeContents contents_;
  const ModelShape& shape_;
  Tag tag_;
  std::vector<PostedMessage> sent_;
  std::vector<Expected> expected_;
};

}  // namespace cadenza
