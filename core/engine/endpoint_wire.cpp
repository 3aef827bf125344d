// SPDX-License-Identifier: Apache-2.0
// EndpointInfo to and from the wire: what the peer wrote is trusted only after this.
#include <fmt/format.h>

#include <limits>

#include "core/base/error.h"
#include "core/engine/endpoint.h"
#include "core/wire/fields.h"

namespace rdmameter {
namespace {

std::vector<std::uint32_t> require_numbers(const nlohmann::json& wire, std::string_view key,
                                           std::uint32_t min, std::uint32_t max,
                                           std::uint32_t highest) {
  std::vector<std::uint32_t> numbers;
  for (const nlohmann::json& element : require_array(wire, key, max, min)) {
    if (!element.is_number_unsigned() || element.get<std::uint64_t>() > highest)
      throw MeasurementError(
          fmt::format("the peer's message: {} must hold numbers up to {}", key, highest));
    numbers.push_back(element.get<std::uint32_t>());
  }
  return numbers;
}

}  // namespace

nlohmann::json endpoint_device_to_wire(const EndpointInfo& info) {
  return {{"lid", info.lid},
          {"gid", gid_text(info.gid.value)},
          {"gid_type", gid_type_name(info.gid.type)},
          {"gids", gids_to_wire(info.gids)},
          {"link_layer", info.link_layer},
          {"needs_grh", info.needs_grh},
          {"mtu_bytes", info.mtu_bytes},
          {"reads_in", info.reads_in},
          {"reads_out", info.reads_out}};
}

nlohmann::json endpoint_queues_to_wire(const EndpointInfo& info) {
  return {{"address", info.address},
          {"rkeys", info.rkeys},
          {"qkey", info.qkey},
          {"qpns", info.qpns},
          {"psns", info.psns},
          {"credit_address", info.credit_address},
          {"credit_rkey", info.credit_rkey}};
}

nlohmann::json endpoint_info_to_wire(const EndpointInfo& info) {
  nlohmann::json wire = endpoint_device_to_wire(info);
  wire.update(endpoint_queues_to_wire(info));
  return wire;
}

EndpointInfo endpoint_device_from_wire(const nlohmann::json& wire) {
  EndpointInfo info;
  info.lid = require_uint_as<std::uint16_t>(wire, "lid");
  info.gid = gid_from_wire(wire);
  info.gids = gids_from_wire(wire, "gids");
  info.link_layer = static_cast<int>(require_uint(wire, "link_layer", 0, 255));
  info.needs_grh = require_bool(wire, "needs_grh");
  info.mtu_bytes = static_cast<std::uint32_t>(require_uint(wire, "mtu_bytes", 256, 4096));
  if (!mtu_from_bytes(info.mtu_bytes))
    throw MeasurementError("the peer's message: mtu_bytes is not an MTU");
  info.reads_in = require_uint_as<std::uint32_t>(wire, "reads_in");
  info.reads_out = require_uint_as<std::uint32_t>(wire, "reads_out");
  return info;
}

void endpoint_queues_from_wire(const nlohmann::json& wire, std::uint32_t expected_qps,
                               EndpointInfo& info) {
  info.address = require_uint_as<std::uint64_t>(wire, "address");
  info.rkeys =
      require_numbers(wire, "rkeys", 0, expected_qps, std::numeric_limits<std::uint32_t>::max());
  info.qkey = require_uint_as<std::uint32_t>(wire, "qkey");
  info.qpns = require_numbers(wire, "qpns", expected_qps, expected_qps, k24Bits);
  info.psns = require_numbers(wire, "psns", expected_qps, expected_qps, k24Bits);
  info.credit_address = require_uint_as<std::uint64_t>(wire, "credit_address");
  info.credit_rkey = require_uint_as<std::uint32_t>(wire, "credit_rkey");
}

EndpointInfo endpoint_info_from_wire(const nlohmann::json& wire, std::uint32_t expected_qps) {
  EndpointInfo info = endpoint_device_from_wire(wire);
  endpoint_queues_from_wire(wire, expected_qps, info);
  return info;
}

}  // namespace rdmameter
