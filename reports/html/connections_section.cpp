// SPDX-License-Identifier: Apache-2.0
// Message rates over active connections: a picture for each opcode, knees and a table. All of it is
// there without JavaScript.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "reports/html/html_table.h"
#include "reports/html/sections.h"
#include "reports/summary/facts.h"
#include "reports/topology/connections.h"

namespace rdmameter {
namespace {

using Curves = std::vector<const ConnectionCurve*>;

constexpr double kRatesWidth = 640, kRatesHeight = 260, kRatesLeft = 52, kRatesBottom = 34,
                 kRatesTop = 10, kRatesRight = 80;
constexpr std::size_t kLineClasses = 4;  ///< classes l0 to l3 of page.css

/// From numbers to places in the picture: connections on a logarithmic axis, rates from 0.
struct RateScale {
  double most_active = 2, most_rate = 0;

  double x(double active) const {
    return kRatesLeft +
           (kRatesWidth - kRatesLeft - kRatesRight) * std::log2(active) / std::log2(most_active);
  }
  double y(double rate) const {
    return kRatesHeight - kRatesBottom -
           (kRatesHeight - kRatesBottom - kRatesTop) * rate / most_rate;
  }
};

RateScale rate_scale_of(const Curves& curves) {
  RateScale scale;
  for (const ConnectionCurve* curve : curves)
    for (const auto& [active, point] : curve->points)
      for (const double rate : point.mmsg_per_s) {
        scale.most_active = std::max(scale.most_active, static_cast<double>(active));
        scale.most_rate = std::max(scale.most_rate, rate);
      }
  return scale;
}

std::string axes_svg(const RateScale& scale) {
  std::string svg;
  const double step = scale.most_active > 256 ? 4 : 2;
  for (double active = 1; active <= scale.most_active; active *= step)
    svg += fmt::format("<text x={:.1f} y={:.0f} text-anchor=middle>{:.0f}</text>", scale.x(active),
                       kRatesHeight - kRatesBottom + 16, active);
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double rate = scale.most_rate * quarter / 4;
    svg += fmt::format(
        "<path class=grid d=\"M{0} {1:.1f}H{2}\"/><text x={3} y={4:.1f} "
        "text-anchor=end>{5:.3g}</text>",
        kRatesLeft, scale.y(rate), kRatesWidth - kRatesRight, kRatesLeft - 6, scale.y(rate) + 4,
        rate);
  }
  return svg;
}

/// The medians joined, the range of the repetitions as a bar at each.
std::string curve_svg(const ConnectionCurve& curve, const RateScale& scale, std::size_t index) {
  std::string line, bars, end;
  for (const auto& [active, point] : curve.points) {
    if (point.mmsg_per_s.empty()) continue;
    const double x = scale.x(static_cast<double>(active));
    const double rate = median(point.mmsg_per_s);
    const auto [low, high] = std::ranges::minmax(point.mmsg_per_s);
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, scale.y(rate));
    bars += fmt::format("M{0:.1f} {1:.1f}V{2:.1f}", x, scale.y(low), scale.y(high));
    end = fmt::format("<text x={:.1f} y={:.1f}>{}</text>", x + 6,
                      scale.y(rate) + 4 + 12 * static_cast<double>(index), markup_text(curve.kind));
  }
  if (line.empty()) return "";
  std::string svg = fmt::format("<g class=l{}><path d=\"{}\"/><path d=\"{}\"/>{}",
                                index % kLineClasses, line, bars, end);
  if (curve.knee.found())
    svg += fmt::format("<rect x={0:.1f} y={1} width={2:.1f} height={3}><title>{4}</title></rect>",
                       scale.x(static_cast<double>(curve.knee.fast)), kRatesTop,
                       std::max(2.0, scale.x(static_cast<double>(curve.knee.slow)) -
                                         scale.x(static_cast<double>(curve.knee.fast))),
                       kRatesHeight - kRatesBottom - kRatesTop, markup_text(knee_sentence(curve)));
  return svg + "</g>";
}

std::string picture(const Curves& curves) {
  const RateScale scale = rate_scale_of(curves);
  if (!(scale.most_rate > 0)) return "";
  std::string svg = axes_svg(scale);
  for (std::size_t i = 0; i < curves.size(); ++i) svg += curve_svg(*curves[i], scale, i);
  return fmt::format(
      "<figure class=rates><figcaption>{}, {} B: Mmsg/s over active connections</figcaption>\n"
      "<svg viewBox=\"0 0 {} {}\" role=img>{}</svg></figure>\n",
      markup_text(curves.front()->opcode), curves.front()->size_bytes, kRatesWidth, kRatesHeight,
      svg);
}

/// A picture of the curves of each opcode and size.
std::string pictures_of(const std::vector<ConnectionCurve>& curves) {
  std::vector<std::pair<std::pair<std::string, std::uint64_t>, Curves>> together;
  for (const ConnectionCurve& curve : curves)
    entry_of(together, {curve.opcode, curve.size_bytes}).push_back(&curve);
  std::string html;
  for (const auto& [of, some] : together) html += picture(some);
  return html;
}

}  // namespace

Section connections_section(const PageCases& page) {
  std::string html;
  for (std::size_t i = 0; i < page.files.size(); ++i) {
    const std::vector<ConnectionCurve> curves = connection_curves(page.files[i].rows);
    if (curves.empty()) continue;
    if (page.files.size() > 1) html += "<h3>" + markup_text(page.labels[i]) + "</h3>\n";
    for (const ConnectionCurve& curve : curves) html += note_html(knee_sentence(curve));
    for (const std::string& limit : connection_limits(page.files[i].context))
      html += note_html(limit);
    html += pictures_of(curves) + html_table(connection_table(curves), "Over active connections");
  }
  return {"connections", "Active connections", html};
}

}  // namespace rdmameter
