// SPDX-License-Identifier: Apache-2.0
#include "bench/doctor/two_ends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

namespace rdmameter {
namespace {

using Port = nlohmann::ordered_json;

/// Do both ends know it, and is it different?
bool differ(const Port& here, const Port& peer, const char* key) {
  return !here[key].is_null() && !peer[key].is_null() && here[key] != peer[key];
}

/// "mlx5_0/1 here has 100 Gb/sec (4X EDR), mlx5_1/1 there 40 Gb/sec (4X QDR)"
template <class Value>
std::string both(const Port& here, const Port& peer, const char* key) {
  return fmt::format("{} here has {}, {} there {}", here["name"].get<std::string>(),
                     here[key].get<Value>(), peer["name"].get<std::string>(),
                     peer[key].get<Value>());
}

void compare_gid_types(const Port& here, const Port& peer, std::vector<Finding>& findings) {
  const auto ours = here["gid_types"].get<std::vector<std::string>>();
  const auto theirs = peer["gid_types"].get<std::vector<std::string>>();
  const auto is_theirs = [&](const std::string& type) {
    return std::ranges::find(theirs, type) != theirs.end();
  };
  if (ours.empty() || theirs.empty() || std::ranges::any_of(ours, is_theirs)) return;
  findings.push_back({"gid_types_of_ends", Weight::problem,
                      fmt::format("no type of GID is at both ends: {} here has {}, {} there {}",
                                  here["name"].get<std::string>(), fmt::join(ours, ", "),
                                  peer["name"].get<std::string>(), fmt::join(theirs, ", ")),
                      "give both netdevs an IP address of one subnet, and both drivers RoCE v2 "
                      "(cma_roce_mode)"});
}

}  // namespace

std::vector<Finding> compare_ends(const nlohmann::ordered_json& here,
                                  const nlohmann::ordered_json& peer) {
  if (here["ports"].empty() || peer["ports"].empty()) return {};
  const Port &ours = here["ports"][0], &theirs = peer["ports"][0];
  std::vector<Finding> findings;
  if (differ(ours, theirs, "link_layer")) {
    findings.push_back(
        {"link_layer_of_ends", Weight::problem,
         "the ports cannot reach each other: " + both<std::string>(ours, theirs, "link_layer"),
         "choose ports of one network with --device and --peer-device"});
    return findings;  // the rest follows from it
  }
  compare_gid_types(ours, theirs, findings);
  if (differ(ours, theirs, "netdev_mtu"))
    findings.push_back({"mtu_of_ends", Weight::warning,
                        "the MTUs of the netdevs differ, and packets are as small as the lesser "
                        "one allows: " +
                            both<std::int64_t>(ours, theirs, "netdev_mtu"),
                        "ip link set NETDEV mtu N, the same at both ends and at each switch"});
  if (differ(ours, theirs, "rate"))
    findings.push_back({"rate_of_ends", Weight::warning,
                        "the links differ, and the slower one limits the bandwidth: " +
                            both<std::string>(ours, theirs, "rate"),
                        "choose like ports with --device and --peer-device, or compare with the "
                        "slower link"});
  return findings;
}

}  // namespace rdmameter
