// SPDX-License-Identifier: Apache-2.0
#include "tests/reports/samples.h"

#include <fmt/core.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "core/instrument/histogram.h"
#include "core/result/row_fields.h"

namespace rdmameter {
namespace {

/// Uniform in [0, 1): the standard's distributions differ from library to library, its engines do
/// not.
double uniform(std::mt19937& engine) {
  return engine() / 4294967296.0;
}

Row row_of(const std::string& test, const std::string& transport, std::uint64_t size_bytes) {
  Row row;
  row.name = fmt::format("{}/{}/size:{}", test, transport, size_bytes);
  row.case_object = {{"transport", transport}, {"size_bytes", size_bytes}, {"qps", 1}, {"depth", 1},
                     {"inline_bytes", 0},      {"mtu_bytes", 4096}};
  return row;
}

HistogramData samples_of(std::uint64_t ns, std::uint64_t count = 1) {
  return {.count = count,
          .sum_ns = count * ns,
          .min_ns = ns,
          .max_ns = ns,
          .buckets = {{static_cast<std::uint32_t>(histogram_index(ns)), count}}};
}

/// Gives each field a value that its rule allows: an optional one, an array one element.
struct FieldFiller {
  void operator()(const char*, auto& value, const FieldRule& rule = {}) { fill(value, rule); }
  void bulk(const char*, auto& value, const FieldRule& rule = {}) { fill(value, rule); }
  void coded(const char*, auto& value, const auto&...) { fill(value, {}); }
  void named(const auto&...) {}
  void constant(const auto&...) {}
  void derived(const auto&...) {}
  void beside(const auto&...) {}
  void extra(const auto&...) {}

  template <class Value>
  void fill(Value& value, const FieldRule& rule) {
    if constexpr (std::same_as<Value, nlohmann::ordered_json>)
      value = Value::object();
    else if constexpr (std::same_as<Value, std::string>)
      value = "name";
    else if constexpr (std::same_as<Value, HistogramData>)
      value = samples_of(1000, 1'000'000);
    else if constexpr (std::is_arithmetic_v<Value>)
      value = static_cast<Value>(std::clamp<std::uint64_t>(1, rule.min, rule.max));
    else if constexpr (requires { value.has_value(); })
      fill(value.emplace(), rule);
    else if constexpr (IsArray<Value>)
      fill(value.emplace_back(), rule);
    else if constexpr (requires { value.first; })
      fill(value.first, rule), fill(value.second, rule);
    else
      list_fields(*this, value);
  }
};

}  // namespace

HistogramData sample_histogram(std::uint64_t count, std::uint64_t typical_ns, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::map<std::uint32_t, std::uint64_t> buckets;
  HistogramData data{.count = count, .min_ns = ~0ULL};
  for (std::uint64_t i = 0; i < count; ++i) {
    const double body = 1 + 0.08 * (uniform(engine) + uniform(engine) - uniform(engine));
    const double tail = uniform(engine) < 0.01 ? 1 + 24 * uniform(engine) * uniform(engine) : 1;
    const auto value = static_cast<std::uint64_t>(static_cast<double>(typical_ns) * body * tail);
    ++buckets[histogram_index(value)];
    data.sum_ns += value;
    data.min_ns = std::min(data.min_ns, value);
    data.max_ns = std::max(data.max_ns, value);
  }
  data.buckets = {buckets.begin(), buckets.end()};
  if (count == 0) data.min_ns = 0;
  return data;
}

Row latency_row(const std::string& transport, std::uint64_t size_bytes, std::uint64_t repetition,
                std::uint64_t repetitions, std::uint64_t samples) {
  Row row = row_of("send_lat", transport, size_bytes);
  row.repetition = repetition;
  row.repetitions = repetitions;
  row.iterations = samples;
  const auto seed = static_cast<std::uint32_t>(size_bytes * 100 + repetition);
  LatencyData latency;
  latency.half_round_trip = true;
  latency.histogram = sample_histogram(samples, 8'200 + size_bytes / 3 + seed % 7 * 20, seed);
  row.real_time_ns =
      static_cast<double>(latency.histogram.sum_ns) / static_cast<double>(samples) / 2;
  row.cpu_time_ns = row.real_time_ns * 2;
  if (transport != "rc") row.lost = seed % 5;
  row.latency = std::move(latency);
  row.device_counters = {{"initiator", {{"rcvd_pkts", samples}, {"sent_pkts", samples}}},
                         {"responder", {{"rcvd_pkts", samples}, {"sent_pkts", samples}}}};
  row.work = {
      {"wrs", samples}, {"doorbells", samples}, {"cqes", 2 * samples}, {"polls", 40 * samples}};
  row.resources = {{"qps", 1}, {"buffer_bytes", 2 * size_bytes}};
  row.extra = {{"path", "netdev"}};
  return row;
}

Row bandwidth_row(std::uint64_t size_bytes, std::uint64_t repetition, std::uint64_t repetitions) {
  Row row = row_of("write_bw", "rc", size_bytes);
  row.case_object["depth"] = 128;
  row.repetition = repetition;
  row.repetitions = repetitions;
  row.iterations = 5'000;
  BandwidthData bandwidth;
  bandwidth.messages = 5'000;
  bandwidth.bytes = 5'000 * size_bytes;
  bandwidth.window_ns = 5'000 * (1'500 + size_bytes / 3 + repetition * 31);
  row.real_time_ns = static_cast<double>(bandwidth.window_ns) / 5'000;
  row.cpu_time_ns = row.real_time_ns;
  row.bandwidth = bandwidth;
  row.family_index = 1;
  return row;
}

Row receiver_counted_row(std::uint64_t size_bytes) {
  Row row = row_of("send_bw", "ud", size_bytes);
  row.iterations = 49'000;
  BandwidthData bandwidth;
  bandwidth.messages = 48'990;
  bandwidth.bytes = 48'990 * size_bytes;
  bandwidth.window_ns = 61'000'000;
  bandwidth.counted_by = BandwidthData::CountedBy::receiver;
  bandwidth.sent = 50'000;
  bandwidth.received = 49'000;
  row.real_time_ns = 61'000'000 / 48'990.0;
  row.cpu_time_ns = 800;
  row.bandwidth = bandwidth;
  row.family_index = 2;
  return row;
}

Row open_loop_row(std::uint64_t rate, std::uint64_t reached_per_s, std::uint64_t repetition,
                  std::uint64_t repetitions) {
  Row row = row_of("send_load", "rc", 64);
  row.name += fmt::format("/rate:{}", rate);
  row.case_object["test"] = "send_load";
  row.case_object["depth"] = 128;
  row.case_object["rate"] = rate;
  row.repetition = repetition;
  row.repetitions = repetitions;
  row.iterations = rate;
  const std::uint64_t missed = reached_per_s < rate ? rate - reached_per_s : 0;
  const auto seed = static_cast<std::uint32_t>(rate + repetition);
  row.latency = LatencyData{
      .definition = LatencyData::Definition::response,
      .histogram = sample_histogram(reached_per_s, 9'000 + 1'000 * missed + rate / 10, seed)};
  row.load = LoadData{.due = rate,
                      .window_ns = 1'000'000'000,
                      .completed = reached_per_s,
                      .completing_ns = 1'000'000'000,
                      .unsent = missed,
                      .backlog_max = 1 + missed,
                      .interval_ns = 500'000'000,
                      .backlog = {1, 1 + missed}};
  row.load->service.histogram = sample_histogram(reached_per_s, 8'000, seed + 1);
  row.load->lateness.histogram = sample_histogram(reached_per_s, 200, seed + 2);
  row.real_time_ns = 1e9 / static_cast<double>(rate);
  return row;
}

Row mix_load_row(std::uint64_t repetition, std::uint64_t repetitions) {
  Row row = open_loop_row(1000, 1000, repetition, repetitions);
  row.name = "mix_load/transport:rc/mix:read:4096:70+write:8:30";
  row.case_object["test"] = "mix_load";
  row.case_object["mix"] = "read:4096:70+write:8:30";
  const auto part = [&](const char* operation, std::uint64_t size_bytes, std::uint64_t weight) {
    const std::uint64_t count = 10 * weight;
    LoadPart made{.operation = operation,
                  .size_bytes = size_bytes,
                  .weight = weight,
                  .due = count,
                  .completed = count,
                  .offered_per_s = static_cast<double>(count),
                  .reached_per_s = static_cast<double>(count)};
    made.response.histogram = sample_histogram(count, 9'000 + size_bytes, 5);
    made.service.histogram = sample_histogram(count, 8'000 + size_bytes, 6);
    made.lateness.histogram = sample_histogram(count, 200, 7);
    return made;
  };
  row.load->mix = {part("read", 4096, 70), part("write", 8, 30)};
  return row;
}

Row blamed_row() {
  Row row = latency_row("rc", 64, 0, 1, 2100);
  row.blame = BlameData{.limit_ns = 20'000,
                        .p50_ns = 9'000,
                        .late = 2,
                        .local = samples_of(5'000'000),
                        .undecided = samples_of(30'000),
                        .both = 1,
                        .local_gaps = {.limit_ns = 200, .histogram = samples_of(4'990'000)},
                        .stalls = {{4'990'000, 123, "2027-01-15T08:00:00.000000019Z"}}};
  return row;
}

Row skipped_row(std::uint64_t size_bytes) {
  Row row = row_of("send_lat", "ud", size_bytes);
  row.status = Row::Status::skipped;
  row.message = "A UD message must fit the MTU, 4096 bytes here.";
  row.family_index = 3;
  return row;
}

Row settled_row() {
  Row row = latency_row("rc", 64, 19, 20);
  using enum UntilData::Ended;
  row.until = UntilData{
      .ended = budget,
      .metrics = {{.metric = "p50_ns", .goal = 0.01, .median = 4000, .low = 3980, .high = 4020},
                  {.metric = "p99_ns", .goal = 0.05, .median = 9000, .low = 8000, .high = 10'000}}};
  return row;
}

Row per_device_row(std::uint64_t repetition, std::uint64_t repetitions) {
  Row row = bandwidth_row(64, repetition, repetitions);
  row.case_object["device"] = row.case_object["peer_device"] = "mlx5_0+mlx5_1";
  row.per_device = {{.device = "mlx5_0",
                     .peer_device = "mlx5_2",
                     .messages = 3000,
                     .bytes = 192'000'000,
                     .window_ns = 16'000'000,
                     .bound_gbps = 100.0},
                    {.device = "mlx5_1",
                     .peer_device = "mlx5_3",
                     .messages = 1500,
                     .bytes = 96'000'000,
                     .window_ns = 16'000'000,
                     .bound_gbps = {}}};
  return row;
}

Row per_qp_row(std::uint64_t repetition, std::uint64_t repetitions) {
  Row row = latency_row("rc", 64, repetition, repetitions);
  row.case_object["qps"] = 4;
  row.per_qp = PerQpData{
      .qps = 4,
      .flow_labels = {1, 2, 3, 4},
      .udp_source_ports = {49153, 49154, 49155, 49156},
      .mean_ns = {4000.5, 4100, 9000, 4200},
      .p50_ns = {3900, 4000, 8900, 4100},
      .max_ns = {5000, 5000, 12000, 5000},
      .spread = {{.of = "p50_ns", .min = 3900, .p10 = 3900, .p50 = 4050, .p90 = 8900, .max = 8900}},
      .slowest = 2,
      .slow = {2}};
  return row;
}

Row every_field_row() {
  Row row;
  FieldFiller().fill(row, {});
  row.case_object = latency_row("rc", 64, 0, 1).case_object;
  row.case_object["post_list"] = row.case_object["signal_every"] = 1;
  row.latency->half_round_trip = true;
  return row;
}

ResultFile ablation_file() {
  nlohmann::ordered_json context = sample_context();
  context["rdmameter"]["ablation"] = {{"factors",
                                       {{{"axis", "inline"}, {"levels", {"off", "max"}}},
                                        {{"axis", "post-list"}, {"levels", {"1", "16"}}}}},
                                      {"seed", 7}};
  std::vector<Row> rows;
  for (std::uint64_t repetition = 0; repetition < 3; ++repetition)
    for (const unsigned levels : {2U, 0U, 3U, 1U}) {
      Row& row = rows.emplace_back(bandwidth_row(64, repetition, 3));
      const bool inlined = (levels & 1) != 0, listed = (levels & 2) != 0;
      row.name = std::string("write_bw/rc/inline:") + (inlined ? "max" : "off") +
                 "/post-list:" + (listed ? "16" : "1") + "/iterations:1000";
      row.case_object["inline_bytes"] = inlined ? 220 : 0;
      row.case_object["post_list"] = listed ? 16 : 1;
      row.real_time_ns = 1000 + 100 * static_cast<double>(repetition) + (inlined ? 300 : 0) -
                         (listed ? 40 : 0) + (inlined && listed ? 25 : 0);
    }
  ResultFile file = sample_file(rows);
  file.context = context;
  return file;
}

Row error_row(std::uint64_t size_bytes) {
  Row row = row_of("read_lat", "rc", size_bytes);
  row.status = Row::Status::error;
  row.message = "The responder hung up while the case ran.";
  row.family_index = 4;
  return row;
}

nlohmann::ordered_json sample_context() {
  const nlohmann::ordered_json end = {{"version", RDMAMETER_VERSION},
                                      {"hostname", "alpha"},
                                      {"boot_id", "0a1b2c3d-0000-4000-8000-000000000001"},
                                      {"kernel", "6.1.0-18-amd64"},
                                      {"cpu_model", "Example CPU 9000"},
                                      {"cpu_count", 2},
                                      {"cpu_governor", nullptr},
                                      {"memlock_limit_bytes", "unlimited"},
                                      {"clock",
                                       {{"kind", "counter"},
                                        {"ticks_per_ns", 2.5961},
                                        {"error_ppm", 0.7},
                                        {"reason", "invariant"}}},
                                      {"device",
                                       {{"name", "rxe0"},
                                        {"port_num", 1},
                                        {"vendor_id", 0},
                                        {"link_layer", "Ethernet"},
                                        {"active_mtu_bytes", 4096},
                                        {"gid_index", 1},
                                        {"gid", "::ffff:10.9.0.1"},
                                        {"gid_type", "roce_v2"},
                                        {"driver", "rdma_rxe"}}}};
  nlohmann::ordered_json other = end;
  other["hostname"] = "beta";
  other["boot_id"] = "0a1b2c3d-0000-4000-8000-000000000002";
  other["kernel"] = "6.6.13-amd64";
  other["device"]["gid"] = "::ffff:10.9.0.2";
  ContextParts parts;
  parts.google_benchmark = {{"date", "2024-01-02T03:04:05+00:00"},
                            {"host_name", "alpha"},
                            {"executable", "rdmameter"},
                            {"num_cpus", 2},
                            {"mhz_per_cpu", 2600},
                            {"cpu_scaling_enabled", false},
                            {"caches", nlohmann::ordered_json::array()},
                            {"load_avg", {0.5, 0.25, 0.125}},
                            {"library_build_type", "release"}};
  parts.command = "rdmameter run beta send_lat --size 2,64";
  parts.overhead = {{"clock_read_ns", 21.5}, {"record_ns", 3.25}};
  parts.initiator = end;
  parts.responder = other;
  return make_context(parts);
}

std::vector<Row> sample_rows() {
  std::vector<Row> rows;
  for (const std::uint64_t size : {2, 1024})
    for (std::uint64_t repetition = 0; repetition < 3; ++repetition)
      rows.push_back(latency_row("rc", size, repetition, 3));
  rows.push_back(latency_row("ud", 64, 0, 1, 500));
  for (const std::uint64_t size : {64, 65536})
    for (std::uint64_t repetition = 0; repetition < 2; ++repetition)
      rows.push_back(bandwidth_row(size, repetition, 2));
  rows.push_back(receiver_counted_row(1024));
  rows.push_back(skipped_row(8192));
  rows.push_back(skipped_row(16384));
  rows.push_back(error_row(64));
  return rows;
}

ResultFile sample_file(std::vector<Row> rows, const std::string& path) {
  return {path, sample_context(), std::move(rows)};
}

ScratchDirectory::ScratchDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "rdmameter-test-XXXXXX";
  path_ = mkdtemp(pattern.data());
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace rdmameter
