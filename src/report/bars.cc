#include "report/bars.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "base/cat.h"
#include "base/check.h"

namespace cadenza {
namespace {

// Pixels of the picture at its natural size.
constexpr double kWidth = 840, kMargin = 16, kHeading = 44;
constexpr double kPlotHeight = 120, kPanelHeading = 26, kPanelGap = 22;

constexpr const char* kStyle =
    "<style>\n"
    "  text { font: 14px system-ui, sans-serif; fill: #1f2328; }\n"
    "  .heading { font-size: 16px; font-weight: 600; }\n"
    "  .bar { fill: #4c78c8; } .largest { fill: #d9632b; }\n"
    "  .mean { stroke: #1f2328; stroke-dasharray: 5 4; } .floor { stroke: #8c959f; }\n"
    "  @media (prefers-color-scheme: dark) {\n"
    "    text { fill: #e6edf3; } .bar { fill: #79a7f0; } .largest { fill: #f0884f; }\n"
    "    .mean { stroke: #e6edf3; }\n"
    "  }\n"
    "</style>\n";

std::string fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

std::string text_at(double x, double y, const char* look, const std::string& text) {
  return cat("<text x=\"", fixed(x, 1), "\" y=\"", fixed(y, 1), "\" ", look, ">", escaped(text),
             "</text>\n");
}

std::string line_at(double y, const char* name) {
  return cat("<line class=\"", name, "\" x1=\"", fixed(kMargin, 1), "\" x2=\"",
             fixed(kWidth - kMargin, 1), "\" y1=\"", fixed(y, 1), "\" y2=\"", fixed(y, 1),
             "\"/>\n");
}

/// Multiples of their mean.
std::vector<double> over_mean(const BarPanel& panel) {
  CADENZA_CHECK(!panel.values.empty(), "no bar in panel ", panel.title);
  const double mean = std::accumulate(panel.values.begin(), panel.values.end(), 0.0) /
                      static_cast<double>(panel.values.size());
  CADENZA_CHECK(mean > 0, "mean ", mean, " in panel ", panel.title);
  std::vector<double> out;
  for (const double value : panel.values) out.push_back(value / mean);
  return out;
}

/// The panel whose heading begins at `top`; a bar of the height of the plot is `scale` means.
std::string draw_panel(const std::string& title, const std::vector<double>& bars, double top,
                       double scale) {
  const double floor = top + kPanelHeading + kPlotHeight;
  const double pitch = (kWidth - 2 * kMargin) / static_cast<double>(bars.size());
  const double gap = std::min(4.0, 0.25 * pitch);
  const size_t largest =
      static_cast<size_t>(std::max_element(bars.begin(), bars.end()) - bars.begin());
  std::string out = text_at(kMargin, top + 14, "class=\"title\"",
                            cat(title, ": slowest rank ", fixed(bars[largest], 2), " × the mean"));
  for (size_t i = 0; i < bars.size(); ++i) {
    const double height = kPlotHeight * bars[i] / scale;
    out += cat("<rect class=\"", i == largest ? "largest" : "bar", "\" x=\"",
               fixed(kMargin + pitch * static_cast<double>(i) + gap / 2, 2), "\" y=\"",
               fixed(floor - height, 2), "\" width=\"", fixed(pitch - gap, 2), "\" height=\"",
               fixed(height, 2), "\"/>\n");
  }
  return out + line_at(floor, "floor") + line_at(floor - kPlotHeight / scale, "mean");
}

}  // namespace

std::string bars_to_svg(const std::string& title, const std::vector<BarPanel>& panels) {
  CADENZA_CHECK(!panels.empty(), "a picture without panels");
  const double panel_height = kPanelHeading + kPlotHeight + kPanelGap;
  const double height = kHeading + panel_height * static_cast<double>(panels.size());
  double scale = 1;
  for (const BarPanel& panel : panels) {
    const std::vector<double> bars = over_mean(panel);
    scale = std::max(scale, *std::max_element(bars.begin(), bars.end()));
  }
  std::string out =
      cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", fixed(kWidth, 0), " ",
          fixed(height, 0), "\" width=\"", fixed(kWidth, 0), "\" height=\"", fixed(height, 0),
          "\" role=\"img\">\n<title>", escaped(title), "</title>\n", kStyle,
          text_at(kMargin, 24, "class=\"heading\"", title),
          text_at(kWidth - kMargin, 24, "text-anchor=\"end\"", "dashed: the mean"));
  for (size_t i = 0; i < panels.size(); ++i) {
    out += draw_panel(panels[i].title, over_mean(panels[i]),
                      kHeading + panel_height * static_cast<double>(i), scale);
  }
  return out + "</svg>\n";
}

}  // namespace cadenza
