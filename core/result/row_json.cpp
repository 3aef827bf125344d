// SPDX-License-Identifier: Apache-2.0
#include "core/result/row_json.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "core/instrument/histogram.h"
#include "core/result/row_fields.h"

namespace rdmameter {

namespace {

/// @throws std::logic_error  a vector by rank has not one element for each
void check_lengths(const TopologyData& data) {
  const auto check = [&data](std::size_t length, const char* key) {
    if (length != 0 && length != data.ranks)
      throw std::logic_error(std::string("a topology needs one element for each rank: ") + key);
  };
  check(data.qps_per_rank.size(), "qps_per_rank");
  check(data.rank_gbps.size(), "rank_gbps");
  check(data.matrix_ns.size(), "matrix_ns");
  for (const auto& row : data.matrix_ns) check(row.empty() ? 1 : row.size(), "matrix_ns");
}

}  // namespace

/// A row without a measurement has zeros where Google Benchmark leaves out keys that its own
/// compare.py needs.
Json row_to_json(const Row& row) {
  if (row.topology) check_lengths(*row.topology);
  if (row.status == Row::Status::ok) return write_fields(row);
  Row zeroed = row;
  zeroed.iterations = 0;
  zeroed.real_time_ns = zeroed.cpu_time_ns = 0;
  return write_fields(zeroed);
}

Row row_from_json(const Json& json, const std::string& where, Reading reading) {
  return read_fields<Row>(CheckedJson(json, where, reading));
}

void complete(Row& row, const CheckedJson& json) {
  const CheckedJson test_case = json.at("case");
  // Readers compare and print these as texts, and look at no other key without its type.
  using namespace std::string_view_literals;
  for (const auto key : {"test"sv, "transport"sv, "graph"sv, "traffic"sv, "schedule"sv})
    if (const auto axis = row.case_object.find(key);
        axis != row.case_object.end() && !axis->is_null() && !axis->is_string())
      test_case.at(key).text();
  const auto error = json.find("error_occurred"), skipped = json.find("skipped");
  if (error && error->flag()) {
    row.status = Row::Status::error;
    row.message = json.at("error_message").text();
  } else if (skipped && skipped->flag()) {
    row.status = Row::Status::skipped;
    row.message = json.at("skip_message").text();
  }
  const CheckedJson name = json.at("name");
  const std::string_view suffix = name_in(kNameSuffixes, row.status);
  if (name.text() != row.name + std::string(suffix))
    name.fail(fmt::format("is not `run_name` and \"{}\"", suffix));
}

double per_ns(std::uint64_t amount, std::uint64_t window_ns) {
  return window_ns == 0 ? 0.0 : static_cast<double>(amount) / static_cast<double>(window_ns);
}

std::uint64_t window_of(std::uint64_t messages, double rate_per_ns) {
  if (rate_per_ns == 0) return 0;
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(messages) / rate_per_ns));
}

double bandwidth_mib_per_s(const BandwidthData& data) {
  return per_ns(data.bytes, data.window_ns) * 1e9 / (1 << 20);
}

std::optional<std::uint64_t> bandwidth_lost(const BandwidthData& data) {
  if (!data.sent || !data.received) return std::nullopt;
  const std::uint64_t twice = std::min(data.duplicated.value_or(0), *data.received);
  const std::uint64_t arrived = *data.received - twice;
  return *data.sent > arrived ? *data.sent - arrived : 0;
}

double jain_index(std::span<const double> shares) {
  double sum = 0, squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  if (squares == 0) return 1;
  return std::min(1.0, sum * sum / (static_cast<double>(shares.size()) * squares));  // rounding
}

std::optional<double> settled_share(const SettledMetric& settled) {
  if (!settled.low || !settled.high || !settled.median || !(*settled.median > 0))
    return std::nullopt;
  return (*settled.high - *settled.low) / 2 / *settled.median;
}

double background_per_s(const BackgroundData& data) {
  return per_ns(data.operations, data.window_ns) * 1e9;
}

std::optional<double> bound_percent(const DeviceData& data) {
  if (!data.bound_gbps || *data.bound_gbps <= 0) return std::nullopt;
  return 100 * bandwidth_gbps(data) / *data.bound_gbps;
}

std::optional<double> slot_percent(const DeviceData& data) {
  if (!data.slot_gbps || !data.slot_bound_gbps || *data.slot_bound_gbps <= 0) return std::nullopt;
  return 100 * *data.slot_gbps / *data.slot_bound_gbps;
}

double load_part_gbps(const LoadPart& part) {
  return part.reached_per_s * static_cast<double>(part.size_bytes) * 8 / 1e9;
}

double load_offered_per_s(const LoadData& data) {
  return per_ns(data.due, data.window_ns) * 1e9;
}

double load_reached_per_s(const LoadData& data) {
  return per_ns(data.completed, data.completing_ns) * 1e9;
}

std::optional<double> load_reached_share(const LoadData& data) {
  const double offered = load_offered_per_s(data);
  return offered > 0 ? std::optional(load_reached_per_s(data) / offered) : std::nullopt;
}

bool load_saturated(const LoadData& data) {
  constexpr double kKeptUp = 0.99;
  return data.unsent * 100 > data.due ||
         load_reached_per_s(data) < kKeptUp * load_offered_per_s(data);
}

// What must hold of a row's QPs beyond each field.

void complete(PerQpData& data, const CheckedJson& json) {
  const std::uint64_t listed =
      data.numbers.empty() ? std::min<std::uint64_t>(data.qps, kMaxListedQps) : data.numbers.size();
  if (data.numbers.empty() && data.qps > kMaxListedQps)
    json.fail(fmt::format("lists not all of {} QPs, and `numbers` does not say which", data.qps));
  for_each_qp_list(data, [&](const char* key, const auto& list, auto) {
    if (const auto values = json.find(key); values && list.size() != listed)
      values->fail(fmt::format("has {} elements, one for each of {} QPs", list.size(), listed));
  });
}

// What must hold of a topology beyond each of its fields.

namespace {

void check_length(const CheckedJson& json, std::uint64_t ranks) {
  if (json.array_size() != ranks)
    json.fail(fmt::format("has {} elements, one for each of {} ranks", json.array_size(), ranks));
}

}  // namespace

void complete(Straggler& straggler, const CheckedJson& json) {
  using enum Straggler::Verdict;
  const bool one = straggler.verdict == node;
  const bool two = straggler.verdict == path || straggler.verdict == direction;
  const auto check = [&](bool there, bool wanted, const char* key) {
    if (there != wanted)
      json.fail(fmt::format("of the verdict \"{}\" {} `{}`",
                            name_in(kStragglerNames, straggler.verdict),
                            wanted ? "needs" : "has no", key));
  };
  check(straggler.rank.has_value(), one || two, "rank");
  check(straggler.to.has_value(), two, "to");
  check(straggler.factor.has_value(), one || two, "factor");
}

void complete(TopologyData& data, const CheckedJson& json) {
  for (const char* key : {"qps_per_rank", "rank_gbps", "matrix_ns"})
    if (const auto by_rank = json.find(key)) check_length(*by_rank, data.ranks);
  for (std::size_t i = 0; i < data.matrix_ns.size(); ++i)
    check_length(json.at("matrix_ns").at(i), data.ranks);
  const auto slowest =
      data.matrix_summary ? data.matrix_summary->slowest : std::vector<MatrixSummary::Pair>();
  for (std::size_t i = 0; i < slowest.size(); ++i)
    if (std::max(slowest[i].from, slowest[i].to) >= data.ranks)
      json.at("matrix_summary").at("slowest").at(i).fail("names a rank that is not there");
  for (std::size_t i = 0; i < data.failed_pairs.size(); ++i)
    if (std::max(data.failed_pairs[i].from, data.failed_pairs[i].to) >= data.ranks)
      json.at("failed_pairs").at(i).fail("names a rank that is not there");
  for (std::size_t i = 0; i < data.edges.size(); ++i)
    if (data.edges[i].first == data.edges[i].second)
      json.at("edges").at(i).fail("joins a rank with itself");
  if (data.straggler)
    for (const auto& rank : {data.straggler->rank, data.straggler->to})
      if (rank && *rank >= data.ranks)
        json.at("straggler").fail(fmt::format("names rank {} of {}", *rank, data.ranks));
  for (std::size_t i = 1; i < data.by_hops.size(); ++i)
    if (data.by_hops[i].hops <= data.by_hops[i - 1].hops)
      json.at("by_hops").at(i).at("hops").fail("is not greater than the one before it");
  std::uint64_t sum = 0;  // never wraps: at most 2^20 ranks of 2^32 QPs
  for (const std::uint64_t qps : data.qps_per_rank) sum += qps;
  if (data.qps_total && !data.qps_per_rank.empty() && *data.qps_total != sum)
    json.at("qps_total").fail(fmt::format("is not the sum of `qps_per_rank` ({})", sum));
}

// A latency: the statistics that are written beside its histogram, and the checks of what is read.

namespace {

/// The non-empty buckets: as many indexes as counts, ascending, none of them 0.
void read_buckets(const CheckedJson& json, HistogramData& data) {
  const CheckedJson index = json.at("index"), n = json.at("n");
  const std::size_t size = index.array_size();
  if (n.array_size() != size)
    n.fail(fmt::format("has {} elements, `index` {}", n.array_size(), size));
  std::uint64_t total = data.overflow, min = 0;
  data.buckets.reserve(std::min(size, kHistogramBuckets));
  for (std::size_t i = 0; i < size; ++i) {
    const auto bucket = index.count_at(i, 0, kHistogramBuckets - 1);
    if (bucket < min) index.at(i).fail("is not greater than the one before it");
    min = bucket + 1;
    const std::uint64_t samples = n.count_at(i, 1, kMaxExactCount);
    data.buckets.push_back({static_cast<std::uint32_t>(bucket), samples});
    total += samples;
    if (total > data.count) break;  // never wraps: count and samples are below 2^54
  }
  if (total != data.count)
    n.fail(fmt::format("and `overflow` do not sum to `count` ({})", data.count));
}

/// min, max and sum against the buckets: an exact value lies within its bucket.
void check_extremes(const CheckedJson& json, const HistogramData& data) {
  if (data.count == 0) {
    if (data.sum_ns != 0 || data.min_ns != 0 || data.max_ns != 0)
      json.fail("has no samples, but a sum, min or max");
    return;
  }
  constexpr std::uint64_t kNoBucket = 1ULL << kHistogramMaxBits;
  const auto in_bucket = [](std::uint64_t value, std::uint32_t bucket) {
    return value < kNoBucket && histogram_index(value) == bucket;
  };
  if (data.min_ns > data.max_ns) json.at("min").fail("is greater than `max`");
  const bool only_overflow = data.buckets.empty();
  if (only_overflow ? data.min_ns < kNoBucket : !in_bucket(data.min_ns, data.buckets.front().first))
    json.at("min").fail("is not in the first bucket");
  if (data.overflow > 0 ? data.max_ns < kNoBucket
                        : !in_bucket(data.max_ns, data.buckets.back().first))
    json.at("max").fail("is not in the last bucket");
  constexpr double kRounding = 1e-9;
  if (mean(data) < static_cast<double>(data.min_ns) * (1 - kRounding) ||
      mean(data) > static_cast<double>(data.max_ns) * (1 + kRounding))
    json.at("sum").fail("gives a mean outside min to max");
}

/// Calls act(key, value) for each statistic of the samples, in the order of a row. Those that are an
/// optional need many.
void for_each_statistic(auto& summary, const auto& act) {
  act("min", summary.min);
  act("max", summary.max);
  act("mean", summary.mean);
  act("stddev", summary.stddev);
  act("p50", summary.p50);
  act("p90", summary.p90);
  act("p99", summary.p99);
  act("p99.9", summary.p99_9);
  act("p99.99", summary.p99_99);
}

/// What statistics_to_json() wrote.
LatencySummary told_summary(const CheckedJson& json) {
  LatencySummary summary{.count = json.at("count").count()};
  for_each_statistic(summary, [&json](const char* key, auto& value) {
    const auto found = json.object().find(std::string_view(key));
    if (found == json.object().end() || found->is_null()) return;
    const bool good = found->is_number() && found->template get<double>() >= 0;
    value = good ? found->template get<double>() : json.at(key).not_negative();  // refuses it
  });
  return summary;
}

}  // namespace

Json statistics_to_json(const HistogramData& data, unsigned divisor) {
  const LatencySummary summary = summarize(data, divisor);
  Json json = {{"unit", "ns"}, {"count", count_to_json(summary.count)}};
  for_each_statistic(summary, [&](const char* key, const std::optional<double>& value) {
    json[key] = value && data.count != 0 ? number_to_json(*value) : Json();
  });
  return json;
}

void complete(HistogramData& data, const CheckedJson& json) {
  read_buckets(json, data);
  check_extremes(json, data);
}

void complete(LatencyData& data, const CheckedJson& json) {
  if (!json.has_bulk()) data.told = std::make_shared<const LatencySummary>(told_summary(json));
  const auto half = json.find("half_round_trip");
  data.half_round_trip = half.has_value();
  if (half && data.definition != LatencyData::Definition::round_trip)
    half->fail("is present although the definition is not \"round_trip\"");
}

void complete(OverTimeData& data, const CheckedJson& json) {
  const std::size_t intervals = data.count.size();
  const bool alike = data.p50_ns.size() == intervals && data.p99_ns.size() == intervals &&
                     data.max_ns.size() == intervals &&
                     (data.lost.empty() || data.lost.size() == intervals);
  if (intervals == 0 || !alike) json.fail("has not one number for each interval");
}

void complete(BlameData& data, const CheckedJson& json) {
  if (data.local.count + data.peer.count + data.path.count + data.undecided.count != data.late)
    json.at("late").fail("is not the sum of the four causes' counts");
  if (data.both + data.not_kept != data.undecided.count)
    json.at("undecided").fail("is not the sum of `both` and `not_kept`");
}

}  // namespace rdmameter
