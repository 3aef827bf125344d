// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/fingerprint.h"

#include <fmt/core.h>

#include <algorithm>

#include "reports/text.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

struct Fact {
  const char* name;
  const char* pointer;  ///< into an end's environment
};

/// Names and addresses are not among them: the same hardware may be called otherwise tomorrow.
constexpr Fact kFacts[] = {
    {"tool release", "/version"},
    {"kernel", "/kernel"},
    {"CPU", "/cpu_model"},
    {"CPUs", "/cpu_count"},
    {"governor", "/cpu_governor"},
    {"NUMA nodes", "/numa_nodes"},
    {"NUMA node of the thread", "/thread_numa_node"},
    {"hypervisor", "/hypervisor"},
    {"clock", "/clock/kind"},
    {"driver", "/device/driver"},
    {"vendor", "/device/vendor_id"},
    {"device", "/device/vendor_part_id"},
    {"firmware", "/device/firmware"},
    {"link layer", "/device/link_layer"},
    {"rate [Gb/s]", "/device/rate_gbps"},
    {"lanes", "/device/lanes"},
    {"active MTU [B]", "/device/active_mtu_bytes"},
    {"GID type", "/device/gid_type"},
    {"NUMA node of the device", "/device/numa_node"},
    {"PCIe speed", "/device/pcie_speed"},
    {"PCIe width", "/device/pcie_width"},
};

/// Null where it is not known.
Json fact_at(const Json& end, const char* pointer) {
  const Json::json_pointer way(pointer);
  return end.is_object() && end.contains(way) ? end.at(way) : Json();
}

std::string text_of(const Json& value) {
  return printable(value.is_string() ? value.get<std::string>() : value.dump());
}

void add_changes(std::vector<std::string>& changes, const std::string& end, const Json& left,
                 const Json& right) {
  for (const Fact& fact : kFacts) {
    const Json before = fact_at(left, fact.pointer), after = fact_at(right, fact.pointer);
    if (before.is_null() || after.is_null() || before == after) continue;
    changes.push_back(fmt::format("{}: {}: {} in BASE, {} in NEW", end, fact.name, text_of(before),
                                  text_of(after)));
  }
}

/// The environments of a topology's ranks; empty: the result has none.
Json ranks_of(const Json& context) {
  const Json& ours = context.at("rdmameter");
  const auto found = ours.find("ranks");
  return found != ours.end() && found->is_array() ? *found : Json::array();
}

}  // namespace

std::vector<std::string> environment_changes(const Json& base, const Json& other) {
  std::vector<std::string> changes;
  for (const char* end : {"initiator", "responder"})
    add_changes(changes, end, base.at("rdmameter").at(end), other.at("rdmameter").at(end));
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

}  // namespace rdmameter
