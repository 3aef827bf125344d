// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/line_rate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>

#include "core/result/row_json.h"

namespace rdmameter {
namespace {

/// @param end  0: the initiator
const Json& environment_of(const Json& context, std::size_t end) {
  return fact_at(context, end == 0 ? "/rdmameter/initiator" : "/rdmameter/responder");
}

/// The device of one end; null: none is known.
const Json& device_of(const Json& context, std::size_t end) {
  return fact_at(environment_of(context, end), "device");
}

/// Are both ends on one host? A boot is of one; containers of it may have names of their own, and
/// hosts one name.
bool is_of_one_host(const Json& context) {
  const auto same = [&](const char* fact) {
    return fact_at(environment_of(context, 0), fact) == fact_at(environment_of(context, 1), fact);
  };
  const auto boot_known = [&](std::size_t end) {
    return fact_at(environment_of(context, end), "boot_id").is_string();
  };
  return same(boot_known(0) && boot_known(1) ? "boot_id" : "hostname");
}

/// How often a row's bandwidth counts what a link carries once: in each direction, or for each
/// receiver of a multicast message.
double times_counted(const Row& row) {
  if (fact_at(row.case_object, "bidirectional") == true) return 2;
  if (!test_of(row).starts_with("mcast_")) return 1;
  return std::max(1.0, number_at(row.case_object, "peers").value_or(1));
}

/// Of a rate of one direction, whatever it is.
Number share_of(Number one_way_gbps, const Row& row) {
  if (!one_way_gbps || !row.bandwidth) return std::nullopt;
  return bandwidth_gbps(*row.bandwidth) / (*one_way_gbps * times_counted(row));
}

/// Are a row's ports those of the link?
bool passes(const LinkRate& link, const Row& row) {
  constexpr std::array<std::array<std::string_view, 2>, 2> kKeys{
      {{"device", "port_num"}, {"peer_device", "peer_port_num"}}};
  for (std::size_t end = 0; end < kKeys.size(); ++end)
    for (std::size_t i = 0; i < kKeys[end].size(); ++i) {
      const Json &one = link.ports[end][i], &other = fact_at(row.case_object, kKeys[end][i]);
      if (!one.is_null() && !other.is_null() && one != other) return false;
    }
  return true;
}

Number share_percent(const LinkRate& link, const Row& row) {
  const auto most = line_rate_gbps(link, row);
  if (!most || !row.bandwidth) return std::nullopt;
  return 100 * bandwidth_gbps(*row.bandwidth) / *most;
}

/// Of what both ends of a pair allow, in all directions; nothing where one of them is not known.
Number of_pair(const Number& one, const Number& other, const Row& row) {
  if (!one || !other) return std::nullopt;
  return times_counted(row) * std::min(*one, *other);
}

/// Of all devices; nothing where that of one is not known.
Number sum_of_devices(const Row& row, Number DeviceData::*number) {
  double sum = 0;
  for (const DeviceData& each : row.per_device) {
    if (!(each.*number)) return std::nullopt;
    sum += *(each.*number);
  }
  return sum;
}

Number above_zero(const Number& number) {
  return number && *number > 0 ? number : std::nullopt;
}

Number above_zero(const Json& json, std::string_view where) {
  return above_zero(number_at(json, where));
}

/// Of those that are known.
Number lesser(const Number& one, const Number& other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

/// What a slot carries in one direction: below 8 GT/s ten bits make a byte, above 130 bits make 16
/// bytes. "16.0 GT/s PCIe" [Gb/s]
Number slot_rate_gbps(const Json& device) {
  constexpr double kThirdGeneration = 8.0;
  const double speed = std::strtod(text_at(device, "pcie_speed").c_str(), nullptr);
  const auto width = above_zero(device, "pcie_width");
  if (!width || speed <= 0) return std::nullopt;
  return speed * (speed < kThirdGeneration ? 8.0 / 10 : 128.0 / 130) * *width;
}

/// Without what only some packets have (RETH, DETH, immediate data): a bound may be too high, not
/// too low.
Number packet_header_bytes(const Json& device) {
  constexpr double kBth = 12, kIcrc = 4;     // IBTA, volume 1, 5.2
  constexpr double kLrh = 8, kVcrc = 2;      // InfiniBand alone
  constexpr double kEthernet = 14 + 4;       // header, FCS (IEEE 802.3, 3.1)
  constexpr double kBetweenFrames = 8 + 12;  // preamble and gap (IEEE 802.3, 4.4.2)
  constexpr double kUdp = 8, kIpv4 = 20, kIpv6 = 40, kGrh = 40;
  if (text_at(device, "link_layer") == "InfiniBand") return kLrh + kBth + kIcrc + kVcrc;
  const double frame = kEthernet + kBetweenFrames + kBth + kIcrc;
  const std::string type = text_at(device, "gid_type");
  if (type == "roce_v1") return frame + kGrh;
  const bool ipv4 = text_at(device, "gid").starts_with("::ffff:");
  if (type == "roce_v2") return frame + kUdp + (ipv4 ? kIpv4 : kIpv6);
  return std::nullopt;
}

/// Of each packet of a message.
Number packet_payload_bytes(const Json& test_case) {
  const auto mtu = above_zero(test_case, "mtu_bytes");
  // The parts of a mix have sizes of their own, and some load the other direction.
  if (!mtu || test_case.contains("mix")) return std::nullopt;
  const auto size = above_zero(test_case, "size_bytes");
  return size ? *size / std::ceil(*size / *mtu) : *mtu;
}

}  // namespace

bool passes_links(const Json& context) {
  const Json &one = device_of(context, 0), &other = device_of(context, 1);
  for (const Json* device : {&one, &other})
    if (!device->is_object() || fact_at(*device, "driver") == "rdma_rxe") return false;
  return fact_at(one, "name") != fact_at(other, "name") || !is_of_one_host(context);
}

LinkRate link_rate(const Json& context) {
  LinkRate link;
  if (passes_links(context))
    link.gbps = lesser(above_zero(device_of(context, 0), "rate_gbps"),
                       above_zero(device_of(context, 1), "rate_gbps"));
  for (std::size_t end = 0; end < link.ports.size(); ++end) {
    const Json& device = device_of(context, end);
    link.ports[end] = {fact_at(device, "name"), fact_at(device, "port_num")};
  }
  return link;
}

Number line_rate_gbps(const LinkRate& link, const Row& row) {
  if (!link.gbps || row.name.starts_with("tcp_") || !row.per_device.empty() || !passes(link, row))
    return std::nullopt;
  return *link.gbps * times_counted(row);
}

Number line_percent(const LinkRate& link, const Row& row) {
  const auto percent = share_percent(link, row);
  return percent && *percent <= kMostLinePercent ? percent : std::nullopt;
}

std::string line_doubt(double of_the_link, double percent) {
  if (percent <= kMostLinePercent) return "";
  return fmt::format(
      "Messages were faster than the link's {:g} Gb/s: they passed no link, or the driver tells "
      "another rate.",
      of_the_link);
}

std::string line_doubt(const LinkRate& link, const Row& row) {
  const auto percent = share_percent(link, row);
  return percent ? line_doubt(*link.gbps, *percent) : "";
}

PayloadLimits payload_limits(const Json& device) {
  return {.line_gbps = above_zero(device, "rate_gbps"),
          .slot_gbps = slot_rate_gbps(device),
          .header_bytes = packet_header_bytes(device)};
}

Number payload_bound_gbps(const PayloadLimits& limits, double payload_bytes) {
  Number line, slot;
  if (limits.line_gbps && limits.header_bytes)
    line = *limits.line_gbps * payload_bytes / (payload_bytes + *limits.header_bytes);
  if (limits.slot_gbps) slot = *limits.slot_gbps * kPcieShare;
  return lesser(line, slot);
}

Number bound_of(const Row& row) {
  const PayloadBoundData ends = row.bound_gbps.value_or(PayloadBoundData());
  return lesser(above_zero(ends.initiator), above_zero(ends.responder));
}

Number share_of_bound(const Row& row) {
  return share_of(bound_of(row), row);
}

Number share_of_line(const Row& row) {
  return share_of(above_zero(row.line_gbps), row);
}

namespace {

/// Those of an end's device that hold for the memory of a row.
/// @param end  0: the initiator's
PayloadLimits limits_of(const Json& device, const Row& row, std::size_t end) {
  constexpr std::array kMemoryKeys{"memory", "peer_memory"};
  PayloadLimits limits = payload_limits(device);
  if (fact_at(row.case_object, kMemoryKeys[end]) == "device") limits.slot_gbps.reset();
  return limits;
}

/// Of one end; null: the context does not describe it.
const Json& device_facts(const Json& context, std::size_t end, const DeviceData& device) {
  static const Json kNone;
  const Json& devices = fact_at(environment_of(context, end), "devices");
  const auto found = std::ranges::find_if(devices, [&](const Json& one) {
    return fact_at(one, "name") == (end == 0 ? device.device : device.peer_device);
  });
  return found == devices.end() ? kNone : *found;
}

/// A slot carries as much in each direction. Functions of one differ behind the address's dot.
/// @return  what the bounds of devices exceed that of their common slot by, of all slots [Gb/s]
double note_slots(Row& row, const Json& context, std::size_t end) {
  struct Slot {
    double bound_gbps = 0, gbps = 0, of_devices_gbps = 0;
    std::vector<DeviceData*> devices = {};
  };
  std::map<std::string, Slot> slots;
  for (DeviceData& each : row.per_device) {
    const Json& facts = device_facts(context, end, each);
    const std::string address = text_at(facts, "pcie_address");
    const auto gbps = limits_of(facts, row, end).slot_gbps;
    if (address.empty() || !gbps) continue;
    Slot& slot = slots[address.substr(0, address.rfind('.'))];
    slot.bound_gbps = times_counted(row) * *gbps * kPcieShare;
    slot.gbps += bandwidth_gbps(each);
    slot.of_devices_gbps += each.bound_gbps.value_or(0);
    slot.devices.push_back(&each);
  }
  double beyond = 0;
  for (const auto& [address, slot] : slots) {
    if (slot.devices.size() < 2) continue;
    beyond += std::max(0.0, slot.of_devices_gbps - slot.bound_gbps);
    for (DeviceData* each : slot.devices)
      if (100 * slot.gbps > slot_percent(*each).value_or(0) * slot.bound_gbps) {
        each->slot_bound_gbps = slot.bound_gbps;
        each->slot_gbps = slot.gbps;
      }
  }
  return beyond;
}

/// The lesser of both ends' bounds, and of all together what slots that they share leave of the sum.
void note_devices(Row& row, const Json& context, double payload_bytes) {
  const bool one_host = is_of_one_host(context);
  for (DeviceData& each : row.per_device) {
    each.line_gbps = each.bound_gbps = std::nullopt;
    if (one_host && each.device == each.peer_device) continue;  // it passes no link
    const PayloadLimits mine = limits_of(device_facts(context, 0, each), row, 0),
                        theirs = limits_of(device_facts(context, 1, each), row, 1);
    each.line_gbps = of_pair(mine.line_gbps, theirs.line_gbps, row);
    each.bound_gbps = of_pair(payload_bound_gbps(mine, payload_bytes),
                              payload_bound_gbps(theirs, payload_bytes), row);
  }
  const double beyond_mine = note_slots(row, context, 0),
               beyond_theirs = note_slots(row, context, 1);
  if (!row.bandwidth) return;
  if (const auto sum = sum_of_devices(row, &DeviceData::bound_gbps))
    row.bound_gbps = {.initiator = (*sum - beyond_mine) / times_counted(row),
                      .responder = (*sum - beyond_theirs) / times_counted(row)};
  if (const auto sum = sum_of_devices(row, &DeviceData::line_gbps))
    row.line_gbps = *sum / times_counted(row);
}

}  // namespace

void note_bounds(Row& row, const Json& context) {
  const auto payload = packet_payload_bytes(row.case_object);
  if (!passes_links(context) || !payload) return;
  if (!row.per_device.empty()) {
    // Else the context is that of other cases.
    if (fact_at(environment_of(context, 0), "devices").is_array() &&
        fact_at(environment_of(context, 1), "devices").is_array())
      note_devices(row, context, *payload);
    return;
  }
  const LinkRate link = link_rate(context);
  if (!row.bandwidth || !passes(link, row)) return;
  std::array<Number, 2> bounds;
  for (std::size_t end = 0; end < bounds.size(); ++end)
    bounds[end] = payload_bound_gbps(limits_of(device_of(context, end), row, end), *payload);
  row.bound_gbps = {.initiator = bounds[0], .responder = bounds[1]};
  row.line_gbps = link.gbps;
}

}  // namespace rdmameter
