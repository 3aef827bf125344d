// SPDX-License-Identifier: Apache-2.0
// A row of a result file, written and read. docs/results.md says what each key means.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result/checked_json.h"
#include "core/result/row.h"

namespace rdmameter {

/// The row as Google Benchmark's keys first, then ours. Never NaN or Infinity: such a
/// time becomes 0.
/// @throws std::logic_error  `extra` has a key of the row, or a vector by rank has not one element
/// for each
Json row_to_json(const Row& row);

/// Reads what row_to_json() wrote; derived numbers (percentiles, rates) are not looked at but
/// derived anew. Keys of the row that we do not know are kept in `extra`.
/// @param where    file and row, for the error's text
/// @param reading  Reading::metrics: the row without kBulk; the statistics of its latencies are
///                 those that the JSON states
/// @throws UsageError  naming `where`, the key and the reason
Row row_from_json(const Json& json, const std::string& where, Reading reading = Reading::file);

/// Large values that hold no metric: the keys that Reading::metrics skips.
inline constexpr std::array<std::string_view, 5> kBulk{"histogram", "half_round_trip",
                                                       "device_counters", "resources", "points"};

// The names of enums' values.

/// @param names  one for each value, in their order, up to Last
template <auto Last>
constexpr auto names_to(const auto&... names) {
  static_assert(sizeof...(names) == static_cast<std::size_t>(Last) + 1);
  return std::array<std::string_view, sizeof...(names)>{names...};
}
std::string_view name_in(const auto& names, auto value) {
  return names.at(static_cast<std::size_t>(value));
}

/// The end of the name of a row with this status.
inline constexpr auto kNameSuffixes = names_to<Row::Status::skipped>("", "/error", "/skipped");
inline constexpr auto kDefinitionNames =
    names_to<LatencyData::Definition::lateness>("round_trip", "completion", "call", "exchange",
                                                "collective", "response", "service", "lateness");
inline constexpr auto kCountedByNames =
    names_to<BandwidthData::CountedBy::receiver>("initiator", "receiver");
inline constexpr auto kEndedNames = names_to<UntilData::Ended::not_measured>(
    "reached", "repetitions", "budget", "noise", "not_measured");
inline constexpr auto kStragglerNames =
    names_to<Straggler::Verdict::unknown>("none", "node", "path", "direction", "unknown");

/// Bytes or messages per ns; 0 for an empty window.
double per_ns(std::uint64_t amount, std::uint64_t window_ns);
/// The window in which so many messages have this rate; 0 for none. Of loops that each have a
/// window of their own under one load, all messages have the sum of their rates.
std::uint64_t window_of(std::uint64_t messages, double rate_per_ns);

// Payload over window, and messages over window, of what has these members; 0 for an empty window.

double bandwidth_mib_per_s(const BandwidthData& data);  ///< [2^20 bytes/s]
/// [1e9 bits/s]
double bandwidth_gbps(const auto& data) {
  return 8.0 * per_ns(data.bytes, data.window_ns);
}
/// [1e6 messages/s]
double bandwidth_mmsg_per_s(const auto& data) {
  return per_ns(data.messages, data.window_ns) * 1e3;
}

/// Jain's index of fairness: (sum x)^2 / (n * sum x^2), 1 where all are equal, 1/n where one has
/// all (Jain, Chiu and Hawe, 1984). @return 1 for none
double jain_index(std::span<const double> shares);

/// Half the width of the interval, of the median; nothing where there is no interval.
std::optional<double> settled_share(const SettledMetric& settled);

double background_per_s(const BackgroundData& data);  ///< operations [1/s]
/// Of its bound; nothing: that is not known.
std::optional<double> bound_percent(const DeviceData& data);
/// Of the slot that it shares, what all devices there had; nothing: it shares none.
std::optional<double> slot_percent(const DeviceData& data);

double load_part_gbps(const LoadPart& part);      ///< payload reached [1e9 bits/s]
double load_offered_per_s(const LoadData& data);  ///< requests that fell due [1/s]
double load_reached_per_s(const LoadData& data);  ///< requests that were completed [1/s]
/// Reached over offered; nothing where nothing was offered.
std::optional<double> load_reached_share(const LoadData& data);
/// Is what was reached less than 99 % of what was offered? Then the backlog grows as long as the
/// run lasts, and percentiles of responses are no steady state's.
bool load_saturated(const LoadData& data);

/// Messages sent and not received, where the receiver counts; duplicates may hide some.
std::optional<std::uint64_t> bandwidth_lost(const BandwidthData& data);

}  // namespace rdmameter
