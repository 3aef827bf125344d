// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/connection_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/parse_value.h"
#include "core/engine/case_memory.h"

namespace rdmameter {
namespace {

/// Receives of all connections together, as long as each has kLeastReceives.
constexpr std::uint64_t kReceives = 1024, kLeastReceives = 4;

constexpr std::string_view kShared = "shared";
constexpr std::string_view kSharedDescription =
    "RC QPs, each shared by T threads of the initiator, each of which uses all of them";

const std::array kConnectionKinds{
    ConnectionKind{"rc", "RC QPs, each with its own receive queue", 65536},
    ConnectionKind{"srq", "RC QPs whose receives are in one SRQ; sends alone", 65536, true},
    ConnectionKind{"ud", "one UD QP with so many address handles; sends alone", 4096, true},
    ConnectionKind{"shared:2", kSharedDescription, 65536, false, 2},
};

constexpr std::array kConnectionOpcodes{
    ConnectionOpcode{"send", "send_bw", "send_lat", "send_cqe_lat", Opcode::send},
    ConnectionOpcode{"write", "write_bw", "write_lat", "write_cqe_lat", Opcode::rdma_write},
    ConnectionOpcode{"read", "read_bw", "read_lat", "read_lat", Opcode::rdma_read},
};

/// The axes by which the name tells this case from the others of a run.
ChosenAxes telling_axes(const ConnectionKind& kind, std::uint64_t active) {
  ChosenAxes axes;
  axes.set("transport", kind.name == "ud" ? "ud" : "rc");
  if (kind.name == "srq") axes.set("recv", "srq");
  if (kind.sharers > 1) axes.set("sharers", kind.sharers);
  axes.set(kind.name == "ud" ? "peers" : "qps", active);
  return axes;
}

}  // namespace

std::span<const ConnectionKind> connection_kinds() {
  return kConnectionKinds;
}

std::optional<ConnectionKind> connection_kind(std::string_view name) {
  const auto known = std::ranges::find(kConnectionKinds, name, &ConnectionKind::name);
  if (known != kConnectionKinds.end()) return *known;
  if (!name.starts_with(kShared)) return std::nullopt;
  ConnectionKind kind = kConnectionKinds.back();
  name.remove_prefix(kShared.size());
  if (name.empty()) return kind;
  const auto sharers = name.front() == ':' ? parse_count(name.substr(1)) : std::nullopt;
  if (!sharers || *sharers < 2 || *sharers > find_axis("sharers")->max) return std::nullopt;
  kind.name = fmt::format("{}:{}", kShared, *sharers);
  kind.sharers = *sharers;
  return kind;
}

std::span<const ConnectionOpcode> connection_opcodes() {
  return kConnectionOpcodes;
}

ConnectionCase connection_case(const ConnectionKind& kind, const ConnectionOpcode& opcode,
                               std::uint64_t active, bool rate,
                               const ConnectionSettings& settings) {
  ChosenAxes told = telling_axes(kind, active), axes = told;
  // A receive and a signal for each message at every number of connections: what a message costs
  // this program does not change with the number.
  axes.set("recv-post-list", 1);
  axes.set("rx-depth", kind.name == "srq" ? std::max(kReceives, kLeastReceives * active)
                                          : std::max(kReceives / active, kLeastReceives));
  if (rate) {
    const std::uint64_t least = kind.sharers;
    axes.set("depth", kind.name == "ud"
                          ? settings.window
                          : std::max(settings.window / active / least, std::uint64_t{1}) * least);
    axes.set("signal-every", 1);
    axes.set("warmup", std::max<std::uint64_t>(256, 4 * active));
    axes.set("duration", settings.duration);
  } else {
    axes.set("warmup", std::max<std::uint64_t>(100, active));
    axes.set("iterations", std::max(settings.iterations, 2 * active));
  }
  axes.add(settings.given);
  if (const GivenAxis* const size = find_given(settings.given, "size"))
    told.set("size", size->values.front());
  const std::string_view test = rate               ? opcode.rate_test
                                : kind.sharers > 1 ? opcode.sharers_latency_test
                                                   : opcode.latency_test;
  ConnectionCase made{axes.plan(test), kind.name, opcode.name, active, rate};
  made.planned.name = told.plan(test).name;
  return made;
}

std::uint64_t most_within(std::uint64_t budget_bytes, std::uint64_t max, const ConnectionKind& kind,
                          const ConnectionOpcode& opcode, const ConnectionSettings& settings) {
  const auto fits = [&](std::uint64_t active) {
    const TestCase& test_case =
        connection_case(kind, opcode, active, true, settings).planned.test_case;
    return std::max(case_memory_bytes(DeviceCase::usual(test_case, Role::initiator)),
                    case_memory_bytes(DeviceCase::usual(test_case, Role::responder))) <=
           budget_bytes;
  };
  if (fits(max)) return max;
  std::uint64_t most = 0;
  for (std::uint64_t beyond = max; beyond - most > 1;) {
    const std::uint64_t middle = most + (beyond - most) / 2;
    (fits(middle) ? most : beyond) = middle;
  }
  return most;
}

std::vector<std::uint64_t> doubling_to(std::uint64_t most) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t number = 1; number < most; number *= 2) numbers.push_back(number);
  if (most > 0) numbers.push_back(most);
  return numbers;
}

std::vector<std::uint64_t> between(std::uint64_t low, std::uint64_t high, unsigned count) {
  std::vector<std::uint64_t> numbers;
  if (high - low - 1 <= count) {  // all of the few whole numbers
    for (std::uint64_t number = low + 1; number < high; ++number) numbers.push_back(number);
    return numbers;
  }
  const double ratio = static_cast<double>(high) / static_cast<double>(low);
  for (unsigned i = 1; i <= count; ++i) {
    const auto number = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(low) * std::pow(ratio, i / (count + 1.0))));
    if (number > low && number < high && (numbers.empty() || number > numbers.back()))
      numbers.push_back(number);
  }
  return numbers;
}

}  // namespace rdmameter
