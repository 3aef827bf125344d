// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/fingerprint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/text/text.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

struct Fact {
  const char* name;
  const char* pointer;   ///< into an end's environment
  bool machine = false;  ///< a fact of hardware: with another one it is another machine
};

/// Names and addresses are not among them: the same hardware may be called otherwise tomorrow.
constexpr Fact kFacts[] = {
    {"tool release", "/version"},
    {"build", "/build"},
    {"kernel", "/kernel"},
    {"libibverbs", "/libibverbs"},
    {"providers", "/providers"},
    {"CPU", "/cpu_model", true},
    {"CPUs", "/cpu_count", true},
    {"CPUs allowed", "/allowed_cpus"},
    {"governor", "/cpu_governor"},
    {"NUMA nodes", "/numa_nodes"},
    {"NUMA node of the thread", "/thread_numa_node"},
    {"hypervisor", "/hypervisor", true},
    {"clock", "/clock/kind"},
    {"clock rate [GHz]", "/clock/ticks_per_ns"},
    {"driver", "/device/driver"},
    {"driver's version", "/device/driver_version"},
    {"vendor id", "/device/vendor_id", true},
    {"part id", "/device/vendor_part_id", true},
    {"firmware", "/device/firmware"},
    {"link layer", "/device/link_layer", true},
    {"rate [Gb/s]", "/device/rate_gbps", true},
    {"lanes", "/device/lanes", true},
    {"active MTU [B]", "/device/active_mtu_bytes", true},
    {"GID type", "/device/gid_type", true},
    {"NUMA node of the device", "/device/numa_node"},
    {"PCIe speed", "/device/pcie_speed", true},
    {"PCIe width", "/device/pcie_width", true},
};

/// Null where it is not known, or the file holds something else there.
Json fact_at(const Json& end, const char* pointer) {
  const Json::json_pointer way(pointer);
  return end.is_object() && end.contains(way) ? end.at(way) : Json();
}

/// The clock's rate is measured anew by each process, to some ppm.
bool same_fact(const Json& before, const Json& after) {
  constexpr double kTolerance = 0.001;
  if (!before.is_number_float() || !after.is_number_float()) return before == after;
  const double a = before.get<double>(), b = after.get<double>();
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

std::string text_of(const Json& value) {
  if (value.is_null()) return "unknown";
  return printable(value.is_string() ? value.get<std::string>() : value.dump());
}

/// Where no server answered, neither end is known, or of one among several hosts its name alone.
/// Its cases have failed: that is the verdict on them, and no other environment.
bool is_known(const Json& end) {
  return std::ranges::any_of(
      kFacts, [&](const Fact& fact) { return !fact_at(end, fact.pointer).is_null(); });
}

void add_changes(std::vector<std::string>& changes, const std::string& end, const Json& left,
                 const Json& right) {
  if (!is_known(left) || !is_known(right)) return;
  for (const Fact& fact : kFacts) {
    const Json before = fact_at(left, fact.pointer), after = fact_at(right, fact.pointer);
    if (same_fact(before, after)) continue;
    changes.push_back(fmt::format("{}: {}: {} in BASE, {} in NEW", end, fact.name, text_of(before),
                                  text_of(after)));
  }
}

void add_new(std::vector<std::string>& list, const std::string& prefix,
             const std::vector<std::string>& more) {
  for (const std::string& one : more)
    if (std::ranges::find(list, prefix + one) == list.end()) list.push_back(prefix + one);
}

/// The environments of a topology's ranks; empty: the result has none.
Json ranks_of(const Json& context) {
  const Json ranks = fact_at(context, "/rdmameter/ranks");
  return ranks.is_array() ? ranks : Json::array();
}

/// The responders of a run with several hosts, by their names there.
std::map<std::string, Json> responders_of(const Json& context) {
  std::map<std::string, Json> responders;
  const Json all = fact_at(context, "/rdmameter/responders");
  if (!all.is_array()) return responders;
  for (const Json& one : all)
    if (const Json host = fact_at(one, "/host"); host.is_string())
      responders[host.get<std::string>()] = one;
  return responders;
}

}  // namespace

std::vector<std::string> environment_changes(const Json& base, const Json& other) {
  std::vector<std::string> changes;
  if (base.is_object() != other.is_object())
    changes.push_back(
        fmt::format("the environment is unknown in {}", base.is_object() ? "NEW" : "BASE"));
  for (const char* end : {"initiator", "responder"}) {
    const std::string at = fmt::format("/rdmameter/{}", end);
    add_changes(changes, end, fact_at(base, at.c_str()), fact_at(other, at.c_str()));
  }
  for (const auto& [host, after] : responders_of(other)) {
    const auto before = responders_of(base);
    if (const auto found = before.find(host); found != before.end())
      add_changes(changes, "responder " + printable(host), found->second, after);
  }
  const Json left = ranks_of(base), right = ranks_of(other);
  if (left.size() != right.size() && !left.empty() && !right.empty())
    changes.push_back(fmt::format("ranks: {} in BASE, {} in NEW", left.size(), right.size()));
  for (std::size_t rank = 0; rank < std::min(left.size(), right.size()); ++rank) {
    const std::size_t before = changes.size();
    add_changes(changes, fmt::format("rank {}", rank), left[rank], right[rank]);
    if (changes.size() > before) break;  // the others will have the same to say
  }
  return changes;
}

std::vector<Json> run_contexts(const Json& context) {
  const Json::json_pointer runs("/rdmameter/runs");
  const bool merged =
      context.contains(runs) && context.at(runs).is_array() && !context.at(runs).empty();
  return merged ? context.at(runs).get<std::vector<Json>>() : std::vector<Json>{context};
}

std::string machine_of(const Json& environments) {
  std::string text;
  for (const char* end : {"initiator", "responder"}) {
    const auto found = environments.find(end);
    if (found == environments.end()) continue;
    for (const Fact& fact : kFacts)
      if (const Json value = fact_at(*found, fact.pointer); fact.machine && !value.is_null())
        text +=
            fmt::format("{}{}: {} {}", text.empty() ? "" : ", ", end, fact.name, text_of(value));
  }
  return text;
}

std::vector<std::string> changes_among_runs(const Json& base, const Json& other) {
  const std::vector<Json> before = run_contexts(base), after = run_contexts(other);
  std::vector<std::string> changes;
  if (merged_changes(base).empty())
    for (const Json& run : before)
      add_new(changes, "among the runs of BASE: ", environment_changes(before.front(), run));
  const std::size_t compared = merged_changes(other).empty() ? after.size() : 1;
  for (std::size_t i = 0; i < compared; ++i)
    add_new(changes, "", environment_changes(before.front(), after[i]));
  return changes;
}

std::vector<std::string> merged_changes(const Json& context) {
  std::vector<std::string> changes;
  const Json::json_pointer at("/rdmameter/environment_changes");
  if (context.contains(at) && context.at(at).is_array())
    for (const Json& one : context.at(at))
      if (one.is_string()) changes.push_back(one.get<std::string>());
  return changes;
}

}  // namespace rdmameter
