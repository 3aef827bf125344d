// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/payload_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "reports/summary/line_rate.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kBoundEnds{"initiator", "responder"};

std::optional<double> fact_number(const Json& object, const char* key) {
  const Json value = object.is_object() ? object.value(key, Json()) : Json();
  if (!value.is_number() || !(value.get<double>() > 0)) return std::nullopt;
  return value.get<double>();
}

std::string fact_text(const Json& object, const char* key) {
  const Json value = object.is_object() ? object.value(key, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// What a slot carries in one direction: below 8 GT/s ten bits make a byte, above 130 bits make 16
/// bytes. "16.0 GT/s PCIe" [Gb/s]
std::optional<double> slot_rate_gbps(const Json& device) {
  constexpr double kThirdGeneration = 8.0;
  const double speed = std::strtod(fact_text(device, "pcie_speed").c_str(), nullptr);
  const auto width = fact_number(device, "pcie_width");
  if (!width || speed <= 0) return std::nullopt;
  return speed * (speed < kThirdGeneration ? 8.0 / 10 : 128.0 / 130) * *width;
}

/// Without what only some packets have (RETH, DETH, immediate data): a bound may be too high, not
/// too low.
std::optional<double> packet_header_bytes(const Json& device) {
  constexpr double kBth = 12, kIcrc = 4;     // IBTA, volume 1, 5.2
  constexpr double kLrh = 8, kVcrc = 2;      // InfiniBand alone
  constexpr double kEthernet = 14 + 4;       // header, FCS (IEEE 802.3, 3.1)
  constexpr double kBetweenFrames = 8 + 12;  // preamble and gap (IEEE 802.3, 4.4.2)
  constexpr double kUdp = 8, kIpv4 = 20, kIpv6 = 40, kGrh = 40;
  if (fact_text(device, "link_layer") == "InfiniBand") return kLrh + kBth + kIcrc + kVcrc;
  const double frame = kEthernet + kBetweenFrames + kBth + kIcrc;
  const std::string type = fact_text(device, "gid_type");
  if (type == "roce_v1") return frame + kGrh;
  const bool ipv4 = fact_text(device, "gid").starts_with("::ffff:");
  if (type == "roce_v2") return frame + kUdp + (ipv4 ? kIpv4 : kIpv6);
  return std::nullopt;
}

/// Of each packet of a message.
std::optional<double> packet_payload_bytes(const Json& test_case) {
  const auto mtu = fact_number(test_case, "mtu_bytes");
  if (!mtu) return std::nullopt;
  const auto size = fact_number(test_case, "size_bytes");
  return size ? *size / std::ceil(*size / *mtu) : *mtu;
}

}  // namespace

PayloadLimits payload_limits(const Json& device) {
  return {.line_gbps = fact_number(device, "rate_gbps"),
          .slot_gbps = slot_rate_gbps(device),
          .header_bytes = packet_header_bytes(device)};
}

std::optional<double> payload_bound_gbps(const PayloadLimits& limits, double payload_bytes) {
  std::optional<double> bound;
  if (limits.line_gbps && limits.header_bytes)
    bound = *limits.line_gbps * payload_bytes / (payload_bytes + *limits.header_bytes);
  if (limits.slot_gbps) {
    const double slot = *limits.slot_gbps * kPcieShare;
    bound = std::min(bound.value_or(slot), slot);
  }
  return bound;
}

PayloadBounds::PayloadBounds(const Json& context) : linked_(passes_links(context)) {
  if (!linked_) return;
  for (std::size_t end = 0; end < kBoundEnds.size(); ++end) {
    ends_[end].device = context.at("rdmameter").at(kBoundEnds[end]).at("device");
    ends_[end].limits = payload_limits(ends_[end].device);
  }
}

void PayloadBounds::note(Row& row) const {
  constexpr std::array kDeviceKeys{"device", "peer_device"}, kPortKeys{"port_num", "peer_port_num"};
  constexpr std::array kMemoryKeys{"memory", "peer_memory"};
  const auto payload = packet_payload_bytes(row.case_object);
  if (!linked_ || !row.bandwidth || !payload) return;
  Json bounds = Json::object();
  for (std::size_t end = 0; end < kBoundEnds.size(); ++end) {
    const Json& device = ends_[end].device;  // that of the first case
    if (row.case_object.value(kDeviceKeys[end], Json()) != device.value("name", Json()) ||
        row.case_object.value(kPortKeys[end], Json()) != device.value("port_num", Json()))
      return;
    PayloadLimits limits = ends_[end].limits;
    if (row.case_object.value(kMemoryKeys[end], Json()) == "device") limits.slot_gbps.reset();
    const auto bound = payload_bound_gbps(limits, *payload);
    bounds[kBoundEnds[end]] = bound ? Json(*bound) : Json();
  }
  row.extra["bound_gbps"] = std::move(bounds);
}

}  // namespace rdmameter
