#include "bench/case.h"

#include <filesystem>
#include <utility>

#include "base/cat.h"
#include "bench/document_lengths.h"
#include "bench/workloads.h"

namespace cadenza::bench {
namespace {

/// Tokens, unless said otherwise.
struct Sizes {
  int64_t long_document, document, packed, window_document, window, full_document;
  int64_t long_rows, middle_rows, short_rows;  // of tasks with a long kv range
  int64_t keys;                                // of that range
  int64_t tiny_documents;                      // a number of documents
};

Sizes sizes_of(CaseSize size) {
  switch (size) {
    case CaseSize::kQuick:
      return {4096, 2048, 8192, 4096, 512, 1024, 2048, 128, 16, 4096, 1024};
    case CaseSize::kSmoke:
      return {96, 64, 256, 128, 32, 64, 64, 16, 4, 96, 32};
    case CaseSize::kFull:
      break;
  }
  return {16384, 8192, 32768, 16384, 1024, 4096, 2048, 128, 16, 8192, 4096};
}

constexpr int64_t kHeadDim = 128;
constexpr int64_t kTinyTokens = 8;
constexpr int64_t kLongKvDocuments = 2;

TorchWork torch_calls(const Work& work, std::string description) {
  return {TorchWork::Form::kCalls, work.tasks, work.shape.heads, std::move(description)};
}

Case single(Variant variant) {
  variant.tokens = variant.work.q_rows;
  return {{std::move(variant)}};
}

Case one_document(int64_t tokens, const AttentionShape& shape, int threads) {
  const Work work = causal_documents(shape, {tokens});
  return single({.name = cat("doc", size_text(tokens), "_d", shape.head_dim),
                 .work = work,
                 .torch = torch_calls(work, "is_causal"),
                 .threads = threads});
}

LengthDistribution distribution_of(const std::string& path) {
  if (!path.empty()) return read_lengths(path);
  const std::string beside = CADENZA_SOURCE_DIR "/../shared/data/dist_wlbllm.json";
  return std::filesystem::exists(beside) ? read_lengths(beside) : built_in_lengths();
}

/// PyTorch parallelises over heads, so as few as there are threads keep all of them busy; the mask
/// of all tokens costs the same work for each head.
int64_t dense_heads(const AttentionShape& shape, int threads) {
  int64_t heads = 1;
  while (heads < threads && heads < shape.heads) heads *= 2;
  return heads;
}

std::vector<Case> packed(const Sizes& sizes, int threads, const std::string& lengths) {
  const LengthDistribution distribution = distribution_of(lengths);
  const auto documents = draw_documents(distribution.samples, sizes.packed);
  const AttentionShape shape = bench_shape(kHeadDim);
  const Work work = causal_documents(shape, documents);
  const std::string base = cat("packed", size_text(sizes.packed));
  const std::string note = cat(documents.size(), " document(s) from ", distribution.source);
  const int64_t heads = dense_heads(shape, threads);
  const TorchWork dense{TorchWork::Form::kDenseMask, work.tasks, heads,
                        cat("dense mask, ", heads, " of ", shape.heads, " heads, time scaled")};
  return {single({.name = base + "_d128",
                  .work = work,
                  .torch = torch_calls(work, "is_causal, a call a document"),
                  .threads = threads,
                  .note = note}),
          single({.name = base + "_dense_d128",
                  .work = work,
                  .torch = dense,
                  .threads = threads,
                  .note = note})};
}

Case long_kv(const Sizes& sizes, int threads) {
  Case out;
  for (const int64_t rows : {sizes.long_rows, sizes.middle_rows, sizes.short_rows}) {
    Work work =
        long_kv_tasks(bench_shape(kHeadDim), kLongKvDocuments, sizes.long_rows, rows, sizes.keys);
    out.variants.push_back({.name = cat("rows", rows, "_d128"),
                            .work = std::move(work),
                            .threads = threads,
                            .tokens = kLongKvDocuments * sizes.long_rows,
                            .note = cat(size_text(sizes.keys), " keys a task")});
  }
  return out;
}

Case tiny(const Sizes& sizes, int threads) {
  const int64_t tokens = sizes.tiny_documents * kTinyTokens;
  const AttentionShape shape = bench_shape(kHeadDim);
  Work work = causal_documents(
      shape, std::vector<int64_t>(static_cast<size_t>(sizes.tiny_documents), kTinyTokens));
  const TorchWork batch{TorchWork::Form::kBatch, work.tasks, shape.heads,
                        "is_causal, one batch of documents"};
  return {{{.name = cat("window4to5_doc", size_text(tokens), "_d128"),
            .work = thin_window_document(shape, tokens),
            .threads = threads,
            .tokens = tokens,
            .note = "window 4 for half of the heads, 5 for the others"},
           {.name = "tiny8_d128",
            .work = std::move(work),
            .torch = batch,
            .threads = threads,
            .tokens = tokens,
            .note = cat(sizes.tiny_documents, " documents")}}};
}

Case thread_counts(const Sizes& sizes, int threads) {
  Case out;
  for (const int count : {1, threads}) {
    out.variants.push_back(
        {.name = cat("doc", size_text(sizes.document), "_threads", count, "_d128"),
         .work = causal_documents(bench_shape(kHeadDim), {sizes.document}),
         .threads = count,
         .tokens = sizes.document});
  }
  return out;
}

Case mla(const Sizes& sizes, int threads) {
  const Work work = causal_documents(bench_shape(192, 128), {sizes.document});
  return single({.name = cat("mla_doc", size_text(sizes.document), "_d192_v128"),
                 .work = work,
                 .torch = torch_calls(work, "is_causal, V padded to 192"),
                 .threads = threads});
}

Case window(const Sizes& sizes, int threads) {
  const AttentionShape shape = bench_shape(kHeadDim);
  return single({.name = cat("window", size_text(sizes.window), "_doc",
                             size_text(sizes.window_document), "_d128"),
                 .work = window_document(shape, sizes.window_document, sizes.window),
                 .torch = window_blocks(shape, sizes.window_document, sizes.window),
                 .threads = threads});
}

Case full(const Sizes& sizes, int threads) {
  const Work work = full_document(bench_shape(kHeadDim), sizes.full_document);
  return single({.name = cat("full", size_text(sizes.full_document), "_d128"),
                 .work = work,
                 .torch = torch_calls(work, "no mask"),
                 .threads = threads});
}

}  // namespace

std::string size_text(int64_t tokens) {
  return tokens % 1024 == 0 ? cat(tokens / 1024, "k") : cat(tokens);
}

std::vector<Case> all_cases(CaseSize size, int threads, const std::string& lengths) {
  const Sizes sizes = sizes_of(size);
  std::vector<Case> cases{one_document(sizes.long_document, bench_shape(128), threads),
                          one_document(sizes.document, bench_shape(128), threads),
                          one_document(sizes.document, bench_shape(64), threads),
                          one_document(sizes.document, bench_shape(32), threads)};
  for (Case& one : packed(sizes, threads, lengths)) cases.push_back(std::move(one));
  cases.push_back(long_kv(sizes, threads));
  cases.push_back(tiny(sizes, threads));
  if (threads > 1) cases.push_back(thread_counts(sizes, threads));
  cases.push_back(mla(sizes, threads));
  cases.push_back(window(sizes, threads));
  cases.push_back(full(sizes, threads));
  return cases;
}

}  // namespace cadenza::bench
