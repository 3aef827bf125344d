// SPDX-License-Identifier: Apache-2.0
// What each QP did: how far apart they are, and which are slow.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/result/row.h"
#include "reports/figures/figures.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMostNamed = 8;

/// What a case's QPs are compared by: medians, means where there are too few samples, or rates.
std::string compared_by(const CaseSummary& summary) {
  for (const char* key : {"p50_ns", "mean_ns", "messages_per_s"})
    if (std::ranges::all_of(summary.repetitions, [&](const Row* row) {
          return std::ranges::count(row->per_qp->spread, key, &PerQpData::Spread::of) == 1;
        }))
      return key;
  return "";
}

std::string key_name(const std::string& key) {
  if (key == "p50_ns") return "p50 [µs]";
  return key == "mean_ns" ? "mean [µs]" : "rate [k/s]";
}

/// The port where it is the same in all repetitions.
std::string port_text(const CaseSummary& summary, std::uint64_t qp) {
  std::optional<std::uint64_t> port;
  for (const Row* row : summary.repetitions) {
    const PerQpData& data = *row->per_qp;
    const auto at = static_cast<std::size_t>(
        data.numbers.empty() ? qp
                             : static_cast<std::uint64_t>(std::ranges::find(data.numbers, qp) -
                                                          data.numbers.begin()));
    if (at >= data.udp_source_ports.size()) return "";
    if (port && *port != data.udp_source_ports[at]) return "";
    port = data.udp_source_ports[at];
  }
  return port ? fmt::format(" (port {})", *port) : "";
}

/// Has every repetition numbers of several QPs?
bool has_per_qp(const CaseSummary& summary) {
  return std::ranges::all_of(summary.repetitions,
                             [](const Row* row) {
                               return row->per_qp && row->per_qp->qps > 1 &&
                                      !row->per_qp->spread.empty();
                             }) &&
         !compared_by(summary).empty();
}

/// The QPs that are slow in more than half the repetitions, "3 (port 49155), 7 (port 49159)", those
/// that are slow most often first; or "none".
std::string slow_qps_text(const CaseSummary& summary) {
  std::map<std::uint64_t, std::size_t> times;
  for (const Row* row : summary.repetitions)
    for (const std::uint64_t qp : row->per_qp->slow) ++times[qp];
  std::vector<std::pair<std::uint64_t, std::size_t>> slow(times.begin(), times.end());
  std::erase_if(slow,
                [&](const auto& one) { return 2 * one.second <= summary.repetitions.size(); });
  std::ranges::stable_sort(slow, std::greater{}, &std::pair<std::uint64_t, std::size_t>::second);
  std::string text;
  for (std::size_t i = 0; i < std::min(slow.size(), kMostNamed); ++i)
    add_item(text, fmt::format("{}{}", slow[i].first, port_text(summary, slow[i].first)));
  if (slow.size() > kMostNamed) text += fmt::format(", {} more", slow.size() - kMostNamed);
  return text.empty() ? "none" : text;
}

/// The median over the repetitions, of which each has what QPs are compared by, in the unit of
/// key_name(); of a ping-pong half a round trip, as in the other tables.
FigureColumn spread_column(const char* head, double PerQpData::Spread::*member) {
  return text_column({head}, [member](FigureLine line) {
    const std::string key = compared_by(*line.summary);
    const Number found = median_of(*line.summary, [&](const Row& row) -> Number {
      return (*std::ranges::find(row.per_qp->spread, key, &PerQpData::Spread::of)).*member;
    });
    const double divisor = key == "messages_per_s" ? 1 : latency_divisor(line.summary->first());
    return fmt::format("{:.4g}", *found * 1e-3 / divisor);
  });
}

std::string count_of_qps(FigureLine line) {
  return std::to_string(line.summary->first().per_qp->qps);
}

std::string jain_text(FigureLine line) {
  return known_text(median_of(*line.summary, [](const Row& row) { return row.per_qp->jain; }), 3);
}

}  // namespace

Figures per_qp_figures() {
  using Spread = PerQpData::Spread;
  FigureColumn jain = text_column({"Jain"}, jain_text);
  jain.unless_unknown = true;
  return {
      .title = "QPs, one by one",
      .has = has_per_qp,
      .columns = {text_column({"QPs"}, count_of_qps),
                  text_column({.head = "of each", .is_text = true},
                              [](FigureLine line) { return key_name(compared_by(*line.summary)); }),
                  spread_column("least", &Spread::min), spread_column("median", &Spread::p50),
                  spread_column("greatest", &Spread::max), std::move(jain),
                  text_column({.head = "slow QPs", .is_text = true},
                              [](FigureLine line) { return slow_qps_text(*line.summary); })},
      .csv = csv_of_keys("per_qp_", "/per_qp", {"qps", "jain", "slowest"}),
      .csv_early = 3};
}

}  // namespace rdmameter
