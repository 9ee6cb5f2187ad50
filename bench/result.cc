#include "bench/result.h"

#include <cstdio>
#include <map>

#include "report/table.h"

namespace cadenza::bench {
namespace {

Cell cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }
Cell cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

Cell range_cell(const Result& result) {
  if (!result.ratio_low || !result.ratio_high) return {};
  char text[64];
  std::snprintf(text, sizeof(text), "%.2f to %.2f", *result.ratio_low, *result.ratio_high);
  return std::string(text);
}

Cell remarks(const Result& result) {
  if (result.pytorch_form.empty()) return cell(result.note);
  return (result.note.empty() ? "" : result.note + "; ") + "PyTorch: " + result.pytorch_form;
}

/// A line for each error, with the rows that met it.
std::string errors_text(const std::vector<Result>& results) {
  std::map<std::string, std::string> rows_of;
  for (const Result& r : results) {
    if (r.error.empty()) continue;
    std::string& rows = rows_of[r.error];
    rows += (rows.empty() ? "" : ", ") + r.name + " " + r.dtype + " " + r.phase;
  }
  std::string text;
  for (const auto& [error, rows] : rows_of) text += "not measured: " + rows + ": " + error + '\n';
  return text;
}

}  // namespace

std::string results_text(const std::vector<Result>& results) {
  Table table({{.key = "case", .title = "case"},
               {.key = "dtype", .title = "dtype"},
               {.key = "phase", .title = "phase"},
               {.key = "threads", .title = "threads"},
               {.key = "rounds", .title = "rounds"},
               {.key = "gflops", .title = "ours", .unit = "GFLOP/s", .decimals = 1},
               {.key = "peak", .title = "of peak", .unit = "%", .decimals = 0, .scale = 100},
               {.key = "pytorch", .title = "PyTorch", .unit = "GFLOP/s", .decimals = 1},
               {.key = "ratio", .title = "ratio", .decimals = 2},
               {.key = "range", .title = "rounds' ratios"},
               {.key = "ns", .title = "a token", .unit = "ns", .decimals = 0},
               {.key = "against", .title = "speed", .decimals = 2},
               {.key = "ratio_to", .title = "against"},
               {.key = "remarks", .title = "remarks"}});
  for (const Result& r : results) {
    if (!r.error.empty()) continue;
    table.add_row({r.name, r.dtype, r.phase, int64_t{r.threads}, r.rounds, cell(r.gflops),
                   cell(r.peak_gflops ? std::optional(*r.gflops / *r.peak_gflops) : std::nullopt),
                   cell(r.pytorch_gflops), cell(r.pytorch_ratio), range_cell(r),
                   cell(r.ns_per_token), cell(r.throughput_ratio), cell(r.ratio_to), remarks(r)});
  }
  return table.to_text() + errors_text(results);
}

Json results_json(const std::vector<Result>& results) {
  const auto number = [](const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); };
  const auto text = [](const std::string& x) { return x.empty() ? Json(nullptr) : Json(x); };
  Json rows = Json::array();
  for (const Result& r : results) {
    Json row = {{"case", r.name}, {"dtype", r.dtype}, {"phase", r.phase}};
    row["gflops"] = number(r.gflops);
    row["peak_gflops"] = number(r.peak_gflops);
    row["peak_fraction"] = r.peak_gflops ? Json(*r.gflops / *r.peak_gflops) : Json(nullptr);
    row["pytorch_gflops"] = number(r.pytorch_gflops);
    row["pytorch_ratio"] = number(r.pytorch_ratio);
    row["isa"] = r.isa;
    row["threads"] = r.threads;
    row["rounds"] = r.rounds;
    row["peak_loop"] = text(r.peak_loop);
    row["matmul_gflops"] = number(r.matmul_gflops);
    row["pytorch_ratio_low"] = number(r.ratio_low);
    row["pytorch_ratio_high"] = number(r.ratio_high);
    row["pytorch_distance"] = number(r.pytorch_distance);
    row["pytorch_form"] = text(r.pytorch_form);
    row["ns_per_token"] = number(r.ns_per_token);
    row["ratio_to"] = text(r.ratio_to);
    row["throughput_ratio"] = number(r.throughput_ratio);
    row["note"] = text(r.note);
    row["error"] = text(r.error);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace cadenza::bench
