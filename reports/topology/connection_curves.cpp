// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/connection_curves.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "core/result/row_json.h"
#include "reports/stats/sample.h"
#include "reports/summary/metric.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr const char* kConnectionsKey = "connections";

/// What a row says of itself.
struct RowPoint {
  std::string kind, opcode;
  std::uint64_t active = 0, memory_bytes = 0;
};

std::uint64_t whole_number(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string word(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

/// @pre of_connections()
RowPoint point_of(const Row& row) {
  const auto& about = row.extra.at(kConnectionsKey);
  return {word(about, "kind"), word(about, "opcode"), whole_number(about, "active"),
          std::max(whole_number(about, "memory_bytes"), whole_number(about, "peer_memory_bytes"))};
}

/// The repetitions of one number.
struct Gathered {
  std::vector<double> mmsg_per_s, p50_ns, p99_ns, lost_share;
  std::uint64_t memory_bytes = 0;
};

void gather(Gathered& at, const Row& row) {
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

std::optional<double> middle(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

ConnectionPoint point_from(std::uint64_t active, const Gathered& gathered) {
  return {.active = active,
          .mmsg_per_s = gathered.mmsg_per_s,
          .p50_ns = middle(gathered.p50_ns),
          .p99_ns = middle(gathered.p99_ns),
          .lost_share = middle(gathered.lost_share),
          .memory_bytes = gathered.memory_bytes};
}

}  // namespace

bool of_connections(const Row& row) {
  return row.extra.is_object() && row.extra.contains(kConnectionsKey) &&
         row.extra.at(kConnectionsKey).is_object();
}

std::vector<ConnectionCurve> connection_curves(std::span<const Row> rows) {
  std::vector<ConnectionCurve> curves;
  std::vector<std::map<std::uint64_t, Gathered>> gathered;  // of each curve
  for (const Row& row : rows) {
    if (!of_connections(row) || row.status != Row::Status::ok || row.interrupted) continue;
    const RowPoint point = point_of(row);
    const std::uint64_t size_bytes = whole_number(row.case_object, "size_bytes");
    auto curve = std::ranges::find_if(curves, [&](const ConnectionCurve& one) {
      return one.kind == point.kind && one.opcode == point.opcode && one.size_bytes == size_bytes;
    });
    if (curve == curves.end()) {
      curve = curves.insert(curves.end(), {.kind = point.kind,
                                           .opcode = point.opcode,
                                           .size_bytes = size_bytes,
                                           .points = {},
                                           .knee = {}});
      gathered.emplace_back();
    }
    Gathered& at = gathered[static_cast<std::size_t>(curve - curves.begin())][point.active];
    at.memory_bytes = std::max(at.memory_bytes, point.memory_bytes);
    gather(at, row);
  }
  for (std::size_t i = 0; i < curves.size(); ++i) {
    std::map<std::uint64_t, std::vector<double>> rates;
    for (const auto& [active, numbers] : gathered[i]) {
      if (!numbers.mmsg_per_s.empty()) rates[active] = numbers.mmsg_per_s;
      curves[i].points.push_back(point_from(active, numbers));
    }
    curves[i].knee = find_knee(rates);
  }
  return curves;
}

std::string counted_things(const ConnectionCurve& curve) {
  return curve.kind == "ud" ? "destinations" : "connections";
}

std::string knee_sentence(const ConnectionCurve& curve) {
  const Knee& knee = curve.knee;
  const std::string name = fmt::format("{}, {}", printable(curve.opcode), printable(curve.kind));
  const std::string things = counted_things(curve);
  if (knee.fast == 0)
    return fmt::format(
        "{}: whether there is a knee is not known: it needs the rates of two numbers "
        "of {}.",
        name, things);
  if (knee.found()) {
    const auto fewest = std::ranges::min(curve.points, {}, [&](const ConnectionPoint& point) {
      return point.active == knee.fast || point.active == knee.slow ? point.mmsg_per_s.size()
                                                                    : SIZE_MAX;
    });
    const std::size_t repetitions = fewest.mmsg_per_s.size();
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

std::vector<std::string> connection_limits(const nlohmann::ordered_json& context) {
  const nlohmann::ordered_json::json_pointer limits("/rdmameter/connections/limits");
  std::vector<std::string> sentences;
  if (!context.contains(limits) || !context.at(limits).is_array()) return sentences;
  for (const auto& one : context.at(limits))
    if (one.is_object())
      sentences.push_back(fmt::format("{} ends at {}: {}.", printable(word(one, "kind")),
                                      whole_number(one, "active"), printable(word(one, "reason"))));
  return sentences;
}

}  // namespace rdmameter
