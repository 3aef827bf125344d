// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/fingerprint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/lists.h"
#include "core/base/printable.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

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

/// The clock's rate is measured anew by each process, to some ppm.
bool same_fact(const Json& before, const Json& after) {
  constexpr double kTolerance = 0.001;
  if (!before.is_number_float() || !after.is_number_float()) return before == after;
  const double a = before.get<double>(), b = after.get<double>();
  return std::abs(a - b) <= kTolerance * std::max(std::abs(a), std::abs(b));
}

std::string text_of(const Json& value) {
  return value.is_null() ? "unknown" : value_text(value);
}

/// Of an end that never answered nothing is, or of one among several hosts its name alone.
bool is_known(const Json& end) {
  return std::ranges::any_of(
      kFacts, [&](const Fact& fact) { return !fact_at(end, fact.pointer).is_null(); });
}

void add_changes(std::vector<std::string>& changes, const std::string& end, const Json& left,
                 const Json& right, bool all_measured) {
  if (!all_measured && (!is_known(left) || !is_known(right))) return;
  for (const Fact& fact : kFacts) {
    const Json &before = fact_at(left, fact.pointer), &after = fact_at(right, fact.pointer);
    if (same_fact(before, after)) continue;
    changes.push_back(fmt::format("{}: {}: {} in BASE, {} in NEW", end, fact.name, text_of(before),
                                  text_of(after)));
  }
  // Of several devices, those beside the first.
  for (const Json& after : list_at(right, "devices"))
    for (const Json& before : list_at(left, "devices"))
      if (const std::string name = text_at(after, "name");
          name == text_at(before, "name") && name != text_at(left, "/device/name"))
        add_changes(changes, fmt::format("{}: {}", end, printable(name)), {{"device", before}},
                    {{"device", after}}, all_measured);
}

void add_new(std::vector<std::string>& list, const std::string& prefix,
             const std::vector<std::string>& more) {
  for (const std::string& one : more) add_once(list, prefix + one);
}

/// The responders of a run with several hosts, by their names there.
std::map<std::string, Json> responders_of(const Json& context) {
  std::map<std::string, Json> responders;
  for (const Json& one : list_at(context, "/rdmameter/responders"))
    if (const Json& host = fact_at(one, "host"); host.is_string()) responders[host] = one;
  return responders;
}

struct RunTime {
  std::string boots;  ///< of all ends
  std::int64_t seconds = 0;
};

RunTime time_of(const Json& context) {
  RunTime time{.seconds = epoch_seconds(text_at(context, "date")).value_or(0)};
  std::set<std::string> of_ranks;  // wherever each is
  for (const char* end : {"/rdmameter/initiator/boot_id", "/rdmameter/responder/boot_id"})
    time.boots += text_at(context, end) + ' ';
  for (const Json& one : list_at(context, "/rdmameter/responders"))
    if (one.is_object()) time.boots += fact_at(one, "boot_id").dump();
  for (const Json& one : list_at(context, "/rdmameter/ranks"))
    of_ranks.insert(text_at(one, "boot_id"));
  for (const std::string& one : of_ranks) time.boots += one + ' ';
  return time;
}

}  // namespace

std::vector<std::string> environment_changes(const Json& base, const Json& other,
                                             bool all_measured) {
  std::vector<std::string> changes;
  if (base.is_object() != other.is_object())
    changes.push_back(
        fmt::format("the environment is unknown in {}", base.is_object() ? "NEW" : "BASE"));
  for (const char* end : {"initiator", "responder"}) {
    const std::string at = fmt::format("/rdmameter/{}", end);
    add_changes(changes, end, fact_at(base, at), fact_at(other, at), all_measured);
  }
  for (const auto& [host, after] : responders_of(other)) {
    const auto before = responders_of(base);
    if (const auto found = before.find(host); found != before.end())
      add_changes(changes, "responder " + printable(host), found->second, after, all_measured);
  }
  const Json &left = list_at(base, "/rdmameter/ranks"), &right = list_at(other, "/rdmameter/ranks");
  if (left.size() != right.size() && !left.empty() && !right.empty())
    changes.push_back(fmt::format("ranks: {} in BASE, {} in NEW", left.size(), right.size()));
  for (std::size_t rank = 0; rank < std::min(left.size(), right.size()); ++rank) {
    const std::size_t before = changes.size();
    add_changes(changes, fmt::format("rank {}", rank), left[rank], right[rank], all_measured);
    if (changes.size() > before) break;  // the others will have the same to say
  }
  return changes;
}

std::vector<Json> run_contexts(const Json& context) {
  const Json& runs = list_at(context, "/rdmameter/runs");
  return runs.empty() ? std::vector{context} : runs.get<std::vector<Json>>();
}

std::string machine_of(const Json& environments, std::string_view case_name) {
  std::string text;
  const auto add = [&text](const char* end, const Json& environment) {
    for (const Fact& fact : kFacts)
      if (const Json& value = fact_at(environment, fact.pointer); fact.machine && !value.is_null())
        add_item(text, fmt::format("{}: {} {}", end, fact.name, text_of(value)));
  };
  for (const char* end : {"initiator", "responder"}) add(end, fact_at(environments, end));
  for (const Json& one : list_at(environments, "responders")) {
    const std::string host = "/host:" + text_at(one, "host");
    const auto at = case_name.find(host), end = at + host.size();
    if (at != case_name.npos && (end == case_name.size() || case_name[end] == '/'))
      add("responder", one);
  }
  for (const Json& one : list_at(environments, "ranks")) add("rank", one);
  return text;
}

std::vector<std::string> changes_among_runs(const Json& base, const Json& other,
                                            bool all_measured) {
  const std::vector<Json> before = run_contexts(base), after = run_contexts(other);
  std::vector<std::string> changes;
  if (merged_changes(base).empty())
    for (const Json& run : before)
      add_new(changes,
              "among the runs of BASE: ", environment_changes(before.front(), run, all_measured));
  const std::size_t compared = merged_changes(other).empty() ? after.size() : 1;
  for (std::size_t i = 0; i < compared; ++i)
    add_new(changes, "", environment_changes(before.front(), after[i], all_measured));
  return changes;
}

std::vector<std::string> merged_changes(const Json& context) {
  std::vector<std::string> changes;
  for (const Json& one : list_at(context, "/rdmameter/environment_changes"))
    if (one.is_string()) changes.push_back(one);
  return changes;
}

std::vector<std::size_t> batches_of(const Json& context) {
  const std::vector<RunTime> times = mapped(run_contexts(context), time_of);
  const auto order = order_by(times.size(), [&](std::size_t run) { return times[run].seconds; });
  std::vector<std::size_t> chain(times.size());  // a batch's first run
  std::map<std::string, std::size_t> latest;     // run of a boot
  for (const std::size_t run : order) {
    const auto before = latest.find(times[run].boots);
    const bool joined = before != latest.end() &&
                        times[run].seconds - times[before->second].seconds < kBatchPauseSeconds;
    chain[run] = joined ? chain[before->second] : run;
    latest[times[run].boots] = run;
  }
  std::map<std::size_t, std::size_t> numbers;
  std::vector<std::size_t> batches;
  for (const std::size_t first : chain)
    batches.push_back(numbers.try_emplace(first, numbers.size()).first->second);
  return batches;
}

}  // namespace rdmameter
