// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/tool.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "core/result/json_text.h"
#include "reports/summary/facts.h"

namespace rdmameter {
namespace {

using ToolOperation = PerftestTool::Operation;

constexpr PerftestTool kPerftestTools[]{
    {"ib_send_bw", ToolOperation::send, true, "RC/UC/UD"},
    {"ib_send_lat", ToolOperation::send, false, "RC/UC/UD", 236, 188},
    {"ib_write_bw", ToolOperation::write, true, "RC/UC"},
    {"ib_write_lat", ToolOperation::write, false, "RC/UC", 220, 220},
    {"ib_read_bw", ToolOperation::read, true, "RC"},
    {"ib_read_lat", ToolOperation::read, false, "RC"},
    {"ib_atomic_bw", ToolOperation::atomic, true, "RC"},
    {"ib_atomic_lat", ToolOperation::atomic, false, "RC"},
};

constexpr std::uint64_t kDefault = std::numeric_limits<std::uint64_t>::max();

/// By the vendor and part numbers that ibv_query_device() tells. perftest's sources (July 2026)
/// list part numbers; a vendor's newer parts are taken for like its others.
struct InlineFigure {
  std::uint64_t vendor, connected, datagrams;
  std::uint64_t first_part = 0, last_part = std::numeric_limits<std::uint64_t>::max();
};

// The first entry that fits counts.
constexpr InlineFigure kFigures[]{
    {0x02c9, kDefault, kDefault},                  // mlx4, mlx5
    {0x14e4, 96, 96},                              // bnxt_re
    {0x1d0f, 32, 32},                              // efa
    {0x1ded, 96, 96},                              // erdma
    {0x19e5, 32, 32},                              // hns
    {0x1077, 128, 128, 0x1600, 0x16ff},            // qedr, 45000 series
    {0x1077, kDefault, kDefault},                  // qedr, 41000 series
    {0x8086, 48, 48, 14289, 14289},                // X722: i40iw
    {0x8086, 101, 101},                            // irdma
    {0x1f67, 64, 64, 0x1021, 0x1021},              // xsc, Diamond
    {0x1f67, 64, 64, 0x1023, 0x1023},              // xsc, Diamond next
    {0x1f67, 32, 32},                              // xsc, Andes
    {0x1f0f, 465, 434, 0x1047, 0x1047},            // nbl, DF200
    {0x1f0f, 465, 434, 0x1226, 0x1227},            // nbl, DF200
    {0x1f0f, 465, 434, 0x3500, 0x3510},            // nbl, Draco
    {0x1f0f, 465, 434, 0x1610, 0x1610},            // nbl, RNIC400
    {0x1f0f, 32, 0},                               // nbl, Leonis
    {0x1dd8, kDefault, kDefault},                  // ionic
    {0x10df, kDefault, kDefault},                  // ocrdma
    {0x1425, kDefault, kDefault, 0x4000, 0x6fff},  // cxgb4, T4 to T6
    {0x1425, kDefault, kDefault, 0xa000, 0xbfff},  // cxgb4, FPGA
    {0x209b, kDefault, kDefault, 0x1000, 0x1000},  // TCU1
};

}  // namespace

std::span<const PerftestTool> perftest_tools() {
  return kPerftestTools;
}

const PerftestTool* find_perftest_tool(std::string_view name) {
  const auto* const found = std::ranges::find(kPerftestTools, name, &PerftestTool::name);
  return found == std::end(kPerftestTools) ? nullptr : found;
}

std::uint64_t perftest_inline_on(const Json& environment, std::uint64_t default_bytes,
                                 bool datagrams) {
  const Json& device = fact_at(environment, "device");
  if (!device.is_object() || default_bytes == 0) return default_bytes;
  const std::uint64_t vendor = count_at(device, "vendor_id");
  const std::uint64_t part = count_at(device, "vendor_part_id");
  const auto* const found = std::ranges::find_if(kFigures, [&](const InlineFigure& row) {
    return row.vendor == vendor && part >= row.first_part && part <= row.last_part;
  });
  if (found == std::end(kFigures)) return 0;
  const std::uint64_t figure = datagrams ? found->datagrams : found->connected;
  return figure == kDefault ? default_bytes : figure;
}

}  // namespace rdmameter
