// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/pkey.h"

#include <endian.h>
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

/// @return 0: the entry is empty
std::uint16_t pkey_at(ibv_context& context, const PortInfo& port, std::uint16_t index) {
  __be16 value = 0;
  check_minus_one(ibv_query_pkey(&context, port.number, index, &value), "ibv_query_pkey",
                  port.where());
  return be16toh(value);
}

/// "0x8001 (0), 0xffff (1)"
std::string pkeys_text(ibv_context& context, const PortInfo& port) {
  std::string text;
  for (std::uint32_t index = 0; index < port.pkey_table_length; ++index)
    if (const auto value = pkey_at(context, port, static_cast<std::uint16_t>(index)); value != 0)
      text += fmt::format("{}{:#x} ({})", text.empty() ? "" : ", ", value, index);
  return text.empty() ? "none" : text;
}

PkeyEntry entry_of_value(ibv_context& context, const PortInfo& port, std::uint16_t asked,
                         bool of_peer) {
  const int first = of_peer ? asked | kFullMember : asked;
  for (const int value : {first, first ^ kFullMember}) {
    const int index =
        ibv_get_pkey_index(&context, port.number, htobe16(static_cast<std::uint16_t>(value)));
    if (index < 0) continue;
    if (of_peer && ((value | asked) & kFullMember) == 0)
      throw Unsupported(
          "both ports are limited members of the partition {:#x}, which do not receive from each "
          "other: choose by --pkey one of which an end is a full member (0x8000 and above); {} has "
          "{}",
          asked, port.where(), pkeys_text(context, port));
    return {static_cast<std::uint16_t>(index), static_cast<std::uint16_t>(value)};
  }
  throw Unsupported(
      "the partition key {:#x} is not in the table of {}, which has {}; "
      "choose one that both ports have by --pkey",
      asked, port.where(), pkeys_text(context, port));
}

/// libibverbs reads the table in sysfs alone (ibv_query_pkey()), which a container may not show.
bool is_readable(ibv_context& context, const PortInfo& port) {
  __be16 value = 0;
  return ibv_query_pkey(&context, port.number, 0, &value) == 0;
}

/// Without a subnet manager the only entry is the default partition's (RoCE: IBTA annex A16,
/// A16.2.4; EFA).
PkeyEntry only_entry(ibv_context& context, const PortInfo& port, const PathSettings& path) {
  const bool is_default = path.pkey == kAuto || (path.pkey | kFullMember) == kDefaultPkey;
  if (!is_default || path.pkey_index != 0)
    throw Unsupported(
        "{} shows no partition keys in sysfs: there is only --pkey-index 0, with {:#x}",
        port.where(), kDefaultPkey);
  if (is_iwarp(context)) return {};
  return {0, kDefaultPkey};
}

}  // namespace

PkeyEntry choose_pkey(ibv_context& context, const PortInfo& port, const PathSettings& path,
                      bool of_peer) {
  if (port.link_layer != IBV_LINK_LAYER_INFINIBAND && port.pkey_table_length != 0 &&
      !is_readable(context, port))
    return only_entry(context, port, path);
  if (path.pkey != kAuto)
    return entry_of_value(context, port, static_cast<std::uint16_t>(path.pkey), of_peer);
  if (port.pkey_table_length == 0 && path.pkey_index == 0) return {};
  if (path.pkey_index >= port.pkey_table_length)
    throw Unsupported("--pkey-index {}: {} has {} partition keys, 0 being the first",
                      path.pkey_index, port.where(), port.pkey_table_length);
  const auto index = static_cast<std::uint16_t>(path.pkey_index);
  const std::uint16_t value = pkey_at(context, port, index);
  if (value == 0)
    throw Unsupported("--pkey-index {}: that entry of {} is empty; there are {}", index,
                      port.where(), pkeys_text(context, port));
  return {index, value};
}

}  // namespace rdmameter
