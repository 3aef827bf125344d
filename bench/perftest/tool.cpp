// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/tool.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

namespace rdmameter {
namespace {

using ToolOperation = PerftestTool::Operation;

constexpr std::uint64_t kDefaultOfWrite = 220, kDefaultOfSend = 236, kDefaultOfDatagram = 188;
constexpr std::uint64_t kDefault = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t kAnyPart = std::numeric_limits<std::uint32_t>::max();

/// By the vendor and part numbers that ibv_query_device() tells. perftest's sources (July 2026)
/// list part numbers; a vendor's newer parts are taken for like its others.
struct InlineFigure {
  std::uint32_t vendor, first_part, last_part;
  std::uint64_t connected, datagrams;
};

constexpr InlineFigure every_part(std::uint32_t vendor, std::uint64_t connected,
                                  std::uint64_t datagrams) {
  return {vendor, 0, kAnyPart, connected, datagrams};
}

// The first entry that fits counts.
constexpr std::array kFigures{
    every_part(0x02c9, kDefault, kDefault),                    // mlx4, mlx5
    every_part(0x14e4, 96, 96),                                // bnxt_re
    every_part(0x1d0f, 32, 32),                                // efa
    every_part(0x1ded, 96, 96),                                // erdma
    every_part(0x19e5, 32, 32),                                // hns
    InlineFigure{0x1077, 0x1600, 0x16ff, 128, 128},            // qedr, 45000 series
    every_part(0x1077, kDefault, kDefault),                    // qedr, 41000 series
    InlineFigure{0x8086, 14289, 14289, 48, 48},                // X722: i40iw
    every_part(0x8086, 101, 101),                              // irdma
    InlineFigure{0x1f67, 0x1021, 0x1021, 64, 64},              // xsc, Diamond
    InlineFigure{0x1f67, 0x1023, 0x1023, 64, 64},              // xsc, Diamond next
    every_part(0x1f67, 32, 32),                                // xsc, Andes
    InlineFigure{0x1f0f, 0x1047, 0x1047, 465, 434},            // nbl, DF200
    InlineFigure{0x1f0f, 0x1226, 0x1227, 465, 434},            // nbl, DF200
    InlineFigure{0x1f0f, 0x3500, 0x3510, 465, 434},            // nbl, Draco
    InlineFigure{0x1f0f, 0x1610, 0x1610, 465, 434},            // nbl, RNIC400
    every_part(0x1f0f, 32, 0),                                 // nbl, Leonis
    every_part(0x1dd8, kDefault, kDefault),                    // ionic
    every_part(0x10df, kDefault, kDefault),                    // ocrdma
    InlineFigure{0x1425, 0x4000, 0x6fff, kDefault, kDefault},  // cxgb4, T4 to T6
    InlineFigure{0x1425, 0xa000, 0xbfff, kDefault, kDefault},  // cxgb4, FPGA
    InlineFigure{0x209b, 0x1000, 0x1000, kDefault, kDefault},  // TCU1
};

}  // namespace

std::uint64_t perftest_default_inline(const PerftestTool& tool, bool datagrams) {
  if (tool.bandwidth) return 0;
  switch (tool.operation) {
    case ToolOperation::send:
      return datagrams ? kDefaultOfDatagram : kDefaultOfSend;
    case ToolOperation::write:
      return kDefaultOfWrite;
    case ToolOperation::read:
    case ToolOperation::atomic:
      return 0;
  }
  return 0;
}

std::uint64_t perftest_inline_on(const nlohmann::ordered_json& environment,
                                 std::uint64_t default_bytes, bool datagrams) {
  if (!environment.is_object() || default_bytes == 0) return default_bytes;
  const auto device = environment.value("device", nlohmann::ordered_json());
  if (!device.is_object()) return default_bytes;
  const auto number = [&device](const char* key) {
    const auto found = device.find(key);
    return found != device.end() && found->is_number_unsigned() ? found->get<std::uint32_t>() : 0;
  };
  const std::uint32_t vendor = number("vendor_id"), part = number("vendor_part_id");
  const auto found = std::ranges::find_if(kFigures, [&](const InlineFigure& row) {
    return row.vendor == vendor && part >= row.first_part && part <= row.last_part;
  });
  if (found == kFigures.end()) return 0;
  const std::uint64_t figure = datagrams ? found->datagrams : found->connected;
  return figure == kDefault ? default_bytes : figure;
}

}  // namespace rdmameter
