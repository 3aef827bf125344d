// SPDX-License-Identifier: Apache-2.0
#include "bench/running/result_context.h"

#include <benchmark/benchmark.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <ctime>
#include <random>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/engine/null/null_measurer.h"
#include "core/test_case/test_case.h"
#include "core/wire/wait.h"
#include "topologies/axes/rank_axes.h"

namespace rdmameter {
namespace {

/// ISO 8601 with the zone's offset: 2026-01-31T13:00:00+01:00.
std::string date_text() {
  const std::time_t now = std::time(nullptr);
  const std::string text = fmt::format("{:%FT%T%z}", fmt::localtime(now));
  return text.substr(0, text.size() - 2) + ":" + text.substr(text.size() - 2);
}

Json caches(const benchmark::CPUInfo& cpu) {
  auto result = Json::array();
  for (const auto& cache : cpu.caches)
    result.push_back({{"type", cache.type},
                      {"level", cache.level},
                      {"size", cache.size},
                      {"num_sharing", cache.num_sharing}});
  return result;
}

Json google_benchmark_context(const std::string& command_line) {
  // Throws where not so many descriptors are left: the library would end the program, with
  // status 1.
  static_cast<void>(std::array<EventFd, 2>{});
  const benchmark::CPUInfo& cpu = benchmark::CPUInfo::Get();
  Json object{{"date", date_text()},
              {"host_name", benchmark::SystemInfo::Get().name},
              {"executable", command_line.substr(0, command_line.find(' '))},
              {"num_cpus", cpu.num_cpus},
              {"mhz_per_cpu", static_cast<std::int64_t>(cpu.cycles_per_second / 1e6)},
              {"caches", caches(cpu)},
              {"load_avg", cpu.load_avg},
              {"library_build_type", "release"}};
  if (cpu.scaling != benchmark::CPUInfo::UNKNOWN)
    object["cpu_scaling_enabled"] = cpu.scaling == benchmark::CPUInfo::ENABLED;
  return object;
}

/// Of 128 random bits: no two runs share it, wherever they were measured.
std::string run_id() {
  std::random_device bits;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", bits(), bits(), bits(), bits());
}

Json values_of(const TestCase& test_case, std::span<const Axis> axes) {
  Json values = Json::object();
  for (const Axis& axis : axes)
    if (!values.contains(axis.key)) values[axis.key] = axis_json(test_case, axis);
  return values;
}

Json stated_defaults() {
  const Json latency = values_of(default_case(Opcode::send, Pattern::ping_pong), axes());
  const auto differing = [&](const TestCase& test_case, std::span<const Axis> axes) {
    Json differs = Json::object();
    const Json values = values_of(test_case, axes);
    for (const auto& [key, value] : values.items())
      if (const auto found = latency.find(key); found == latency.end() || *found != value)
        differs[key] = value;
    return differs;
  };
  return {{"latency", latency},
          {"bandwidth", differing(default_case(Opcode::send, Pattern::bandwidth), axes())},
          {"load", differing(default_case(Opcode::send, Pattern::open_loop), axes())},
          {"ranks", differing(default_topology_case(), topology_axes())}};
}

}  // namespace

ContextParts own_context(const std::string& command_line) {
  ContextParts parts;
  parts.google_benchmark = google_benchmark_context(command_line);
  parts.command = command_line;
  parts.extra["run_id"] = run_id();
  parts.extra["defaults"] = stated_defaults();
  return parts;
}

Json result_context(const std::string& command_line, const std::vector<std::string>& gates,
                    const BenchmarkFlags& flags, const ClockChoice& clock, const Measurer& measurer,
                    Json responders) {
  ContextParts parts = own_context(command_line);
  for (const auto& [key, value] : flags.context) {
    if (key == "rdmameter" || parts.google_benchmark.contains(key))
      throw UsageError("--benchmark_context: the key '{}' is taken", key);
    parts.google_benchmark[key] = value;
  }
  parts.overhead = instrument_overhead(clock);
  parts.initiator = measurer.initiator_environment();
  if (responders.is_null())
    parts.responder = measurer.responder_environment();
  else
    parts.extra["responders"] = std::move(responders);
  if (!gates.empty()) parts.extra["gates"] = gates;
  return make_context(parts);
}

}  // namespace rdmameter
