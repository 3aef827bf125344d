// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/connections.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/result/row_json.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr const char* kConnectionsKey = "connections";

void gather(ConnectionPoint& at, const Row& row) {
  if (row.bandwidth) {
    const BandwidthData& data = *row.bandwidth;
    if (data.window_ns == 0) return;
    at.mmsg_per_s.push_back(bandwidth_mmsg_per_s(data));
    if (data.sent && data.received && *data.sent != 0)
      at.lost_share.push_back(1 - static_cast<double>(std::min(*data.received, *data.sent)) /
                                      static_cast<double>(*data.sent));
    return;
  }
  if (const auto p50 = info_of(Metric::p50).value(row)) at.p50_ns.push_back(*p50);
  if (const auto p99 = info_of(Metric::p99).value(row)) at.p99_ns.push_back(*p99);
}

/// The median of the repetitions, and half their range.
std::array<std::string, 2> rate_cells(const ConnectionPoint& point) {
  if (point.mmsg_per_s.empty()) return {kUnknown, kUnknown};
  const auto [low, high] = std::ranges::minmax(point.mmsg_per_s);
  const double rate = median(point.mmsg_per_s);
  const int decimals = decimals_for(std::array{rate});
  return {fixed(rate, decimals), fixed((high - low) / 2, decimals)};
}

}  // namespace

bool of_connections(const Row& row) {
  return fact_at(row.extra, kConnectionsKey).is_object();
}

std::vector<ConnectionCurve> connection_curves(std::span<const Row> rows) {
  using Key = std::tuple<std::string, std::string, std::uint64_t>;  // kind, opcode, size
  std::vector<std::pair<Key, ConnectionCurve>> gathered;
  for (const Row& row : rows) {
    if (!of_connections(row) || row.status != Row::Status::ok || row.interrupted) continue;
    const auto& about = row.extra.at(kConnectionsKey);
    const Key key{text_at(about, "kind"), text_at(about, "opcode"),
                  count_at(row.case_object, "size_bytes")};
    ConnectionPoint& at = entry_of(gathered, key).points[count_at(about, "active")];
    at.memory_bytes = std::max(
        {at.memory_bytes, count_at(about, "memory_bytes"), count_at(about, "peer_memory_bytes")});
    gather(at, row);
  }
  std::vector<ConnectionCurve> curves;
  for (auto& [key, curve] : gathered) {
    std::tie(curve.kind, curve.opcode, curve.size_bytes) = key;
    std::map<std::uint64_t, std::vector<double>> rates;
    for (const auto& [active, point] : curve.points)
      if (!point.mmsg_per_s.empty()) rates[active] = point.mmsg_per_s;
    curve.knee = find_knee(rates);
    curves.push_back(std::move(curve));
  }
  return curves;
}

std::string knee_sentence(const ConnectionCurve& curve) {
  const Knee& knee = curve.knee;
  const std::string name = fmt::format("{}, {}", printable(curve.opcode), printable(curve.kind));
  const std::string things = curve.kind == "ud" ? "destinations" : "connections";
  if (knee.fast == 0)
    return fmt::format(
        "{}: whether there is a knee is not known: it needs the rates of two numbers of {}.", name,
        things);
  if (knee.found()) {
    const std::size_t repetitions = std::min(curve.points.at(knee.fast).mmsg_per_s.size(),
                                             curve.points.at(knee.slow).mmsg_per_s.size());
    return fmt::format(
        "{}: knee between {} and {} {}: from there on at least 10 % below the rate with {} ({}).",
        name, knee.fast, knee.slow, things, knee.best,
        repetitions == 1 ? "a single repetition" : fmt::format("{} repetitions", repetitions));
  }
  if (knee.undecided())
    return fmt::format(
        "{}: knee not decided: no fall up to {} {}, and up to {} some repetitions are "
        "10 % lower and others are not.",
        name, knee.fast, things, knee.most);
  return fmt::format("{}: knee none, up to {} {}.", name, knee.most, things);
}

std::vector<std::string> connection_limits(const Json& context) {
  std::vector<std::string> sentences;
  for (const auto& one : list_at(context, "/rdmameter/connections/limits"))
    if (one.is_object())
      sentences.push_back(fmt::format("{} ends at {}: {}.", printable(text_at(one, "kind")),
                                      count_at(one, "active"), printable(text_at(one, "reason"))));
  return sentences;
}

Table connection_table(std::span<const ConnectionCurve> curves) {
  const bool lossy = std::ranges::any_of(curves, [](const ConnectionCurve& curve) {
    return std::ranges::any_of(curve.points,
                               [](const auto& point) { return !point.second.lost_share.empty(); });
  });
  Table table{.key_columns = 4};
  for (const ConnectionCurve& curve : curves)
    for (const auto& [active, point] : curve.points) {
      const auto [rate, half_range] = rate_cells(point);
      TableLine line(table);
      line.add_text("opcode", printable(curve.opcode));
      line.add_text("over", printable(curve.kind));
      line.add({"size", "B"}, curve.size_bytes);
      line.add({"active"}, active);
      line.add({"rate", "Mmsg/s"}, rate);
      line.add({"±", "Mmsg/s"}, half_range);
      line.add({"p50", "µs"}, known_text(known_median(point.p50_ns), 2, 1e3));
      line.add({"p99", "µs"}, known_text(known_median(point.p99_ns), 2, 1e3));
      line.add({"memory", "MiB"}, known_text(known_count(point.memory_bytes), 2, 1 << 20));
      if (lossy) line.add({"lost", "%"}, known_text(known_median(point.lost_share), 1, 0.01));
    }
  return table;
}

std::string connection_text(const ResultFile& file, const TextStyle& style) {
  const std::vector<ConnectionCurve> curves = connection_curves(file.rows);
  if (curves.empty()) return "";
  std::string text = "\n" + bold("active connections", style) + "\n";
  for (const ConnectionCurve& curve : curves) text += wrap("  ", knee_sentence(curve), style.width);
  for (const std::string& limit : connection_limits(file.context))
    text += wrap("  ", limit, style.width);
  return text + "\n" + render(connection_table(curves), style);
}

}  // namespace rdmameter
