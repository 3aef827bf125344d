// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/result/row_json.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using nlohmann::ordered_json;

ordered_json device(const char* name, double rate_gbps) {
  return {{"name", name},
          {"port_num", 1},
          {"driver", "mlx5_core"},
          {"rate_gbps", rate_gbps},
          {"link_layer", "Ethernet"},
          {"gid_type", "roce_v2"},
          {"gid", "::ffff:10.9.0.1"}};
}

ordered_json context_of(const ordered_json& one, const ordered_json& other,
                        const char* peer = "b") {
  return {{"rdmameter",
           {{"initiator", {{"hostname", "a"}, {"device", one}}},
            {"responder", {{"hostname", peer}, {"device", other}}}}}};
}

Row row_of(std::uint64_t size_bytes) {
  Row row = bandwidth_row(size_bytes, 0, 1);
  row.case_object["mtu_bytes"] = 4096;
  row.case_object["device"] = "dev0";
  row.case_object["peer_device"] = "dev1";
  row.case_object["port_num"] = row.case_object["peer_port_num"] = 1;
  return row;
}

TEST(PayloadBound, IsTheLineWithoutTheHeadersOfEachPacket) {
  const auto share = [](const char* key, const char* value, double payload) {
    ordered_json described = device("dev0", 100);
    described[key] = value;
    return *payload_bound_gbps(payload_limits(described), payload);
  };
  EXPECT_DOUBLE_EQ(share("gid_type", "roce_v2", 4096), 100.0 * 4096 / (4096 + 82));
  EXPECT_DOUBLE_EQ(share("gid", "fd00::1", 4096), 100.0 * 4096 / (4096 + 102));
  EXPECT_DOUBLE_EQ(share("gid_type", "roce_v1", 1024), 100.0 * 1024 / (1024 + 94));
  EXPECT_DOUBLE_EQ(share("link_layer", "InfiniBand", 4096), 100.0 * 4096 / (4096 + 26));
}

TEST(PayloadBound, IsTheSlotsWhereThatIsLess) {
  ordered_json slow = device("dev0", 400);
  slow["pcie_speed"] = "16.0 GT/s PCIe";
  slow["pcie_width"] = 16;
  EXPECT_DOUBLE_EQ(*payload_bound_gbps(payload_limits(slow), 4096), 16.0 * 128 / 130 * 16 * 0.85);
  slow["pcie_speed"] = "32.0 GT/s PCIe";
  EXPECT_DOUBLE_EQ(*payload_bound_gbps(payload_limits(slow), 4096), 400.0 * 4096 / (4096 + 82));
  slow["rate_gbps"] = nullptr;
  slow["pcie_speed"] = "5.0 GT/s PCIe";
  EXPECT_DOUBLE_EQ(*payload_bound_gbps(payload_limits(slow), 4096), 5.0 * 8 / 10 * 16 * 0.85);
  EXPECT_EQ(payload_bound_gbps(payload_limits(nullptr), 4096), std::nullopt);
}

/// Its parts have sizes of their own, and some go the other way.
TEST(PayloadBound, IsNotKnownOfAMix) {
  Row row = row_of(6144);
  row.case_object["mix"] = "read:70+write:30";
  note_bounds(row, context_of(device("dev0", 100), device("dev1", 25)));
  EXPECT_FALSE(row.bound_gbps);
  EXPECT_FALSE(row.line_gbps);
}

TEST(PayloadBound, IsNotedForBothEnds) {
  const ordered_json context = context_of(device("dev0", 100), device("dev1", 25));
  Row row = row_of(6144);  // two packets of 3072 bytes
  note_bounds(row, context);
  EXPECT_DOUBLE_EQ(*row.bound_gbps->initiator, 100.0 * 3072 / (3072 + 82));
  EXPECT_DOUBLE_EQ(*row.bound_gbps->responder, 25.0 * 3072 / (3072 + 82));
  ordered_json iwarp = device("dev1", 25);
  iwarp["gid_type"] = "iwarp";
  row = row_of(64);
  note_bounds(row, context_of(device("dev0", 100), iwarp));
  EXPECT_FALSE(row.bound_gbps->responder);
  EXPECT_TRUE(row_to_json(row).at("bound_gbps").at("responder").is_null());
}

TEST(PayloadBound, IsReadWithAndWithoutWhatIsLargeInARow) {
  Row row = row_of(4096);
  note_bounds(row, context_of(device("dev0", 100), device("dev1", 25)));
  row.bound_gbps->initiator.reset();
  const ordered_json written = row_to_json(row);
  for (const Row& read :
       {row_from_json(written, "a row"), row_from_json(written, "a row", Reading::metrics)}) {
    EXPECT_FALSE(read.bound_gbps->initiator);
    EXPECT_DOUBLE_EQ(*bound_of(read), 25.0 * 4096 / (4096 + 82));
    EXPECT_DOUBLE_EQ(*share_of_bound(read), *share_of_bound(row));
    EXPECT_DOUBLE_EQ(*share_of_line(read), *share_of_line(row));
    EXPECT_EQ(row_to_json(row_from_json(written, "a row")), written);
  }
}

TEST(PayloadBound, AndTheLineHaveTheShareThatARowHasReached) {
  const ordered_json context = context_of(device("dev0", 100), device("dev1", 25));
  Row row = row_of(4096);
  row.bandwidth = {.messages = 1, .bytes = 4096, .window_ns = 4096 * 8 / 20};  // 20 Gb/s
  note_bounds(row, context);
  const double gbps = bandwidth_gbps(*row.bandwidth), bound = 25.0 * 4096 / (4096 + 82);
  EXPECT_DOUBLE_EQ(*bound_of(row), bound);
  EXPECT_DOUBLE_EQ(*share_of_bound(row), gbps / bound);
  EXPECT_DOUBLE_EQ(*share_of_line(row), gbps / 25);
  row.case_object["bidirectional"] = true;
  EXPECT_DOUBLE_EQ(*share_of_bound(row), gbps / bound / 2);
  EXPECT_DOUBLE_EQ(*info_of(Metric::of_bound).value(row), gbps / bound / 2);
  EXPECT_EQ(share_of_bound(row_of(4096)), std::nullopt);
  EXPECT_EQ(share_of_line(row_of(4096)), std::nullopt);
  ordered_json silent = device("dev0", 100), other = device("dev1", 100);
  silent["rate_gbps"] = other["rate_gbps"] = nullptr;
  row = row_of(4096);
  note_bounds(row, context_of(silent, other));
  EXPECT_FALSE(row.line_gbps);
}

TEST(PayloadBound, OfSeveralDevicesIsTheLesserOfEachPair) {
  ordered_json context = context_of(device("mlx5_0", 100), device("mlx5_2", 100));
  ordered_json& ends = context["rdmameter"];
  ends["initiator"]["devices"] = {device("mlx5_0", 100), device("mlx5_1", 100)};
  ends["responder"]["devices"] = {device("mlx5_2", 25), device("mlx5_4", 100)};
  Row row = per_device_row();
  row.case_object["mtu_bytes"] = 4096;
  row.case_object["size_bytes"] = 4096;
  row.per_device[0].bound_gbps.reset();
  row.case_object["bidirectional"] = true;
  note_bounds(row, context);
  EXPECT_DOUBLE_EQ(*row.per_device[0].bound_gbps, 2 * 25.0 * 4096 / (4096 + 82));
  EXPECT_FALSE(row.per_device[1].bound_gbps);  // the context has no mlx5_3
  EXPECT_FALSE(row.bound_gbps || row.line_gbps);
  ends["responder"]["devices"][1] = device("mlx5_3", 50);
  note_bounds(row, context);
  EXPECT_DOUBLE_EQ(*row.per_device[1].line_gbps, 2 * 50.0);
  EXPECT_DOUBLE_EQ(*row.line_gbps, 25.0 + 50);
  EXPECT_DOUBLE_EQ(*bound_of(row), (25.0 + 50) * 4096 / (4096 + 82));
  EXPECT_DOUBLE_EQ(*share_of_line(row), bandwidth_gbps(*row.bandwidth) / (2 * 75));
  note_bounds(row, context_of(device("mlx5_0", 100), device("mlx5_2", 25)));
  EXPECT_DOUBLE_EQ(row.per_device[1].line_gbps.value_or(0), 2 * 50.0) << "it tells of one device";
}

TEST(PayloadBound, OfSeveralDevicesHasNoneForOneThatSendsToItself) {
  const ordered_json own = device("mlx5_1", 100);
  ordered_json context = context_of(device("mlx5_0", 100), device("mlx5_2", 100), "a");
  ordered_json& ends = context["rdmameter"];
  ends["initiator"]["devices"] = {device("mlx5_0", 100), own};
  ends["responder"]["devices"] = {device("mlx5_2", 100), own};
  Row row = per_device_row();
  row.case_object["mtu_bytes"] = row.case_object["size_bytes"] = 4096;
  row.per_device[1].peer_device = "mlx5_1";
  note_bounds(row, context);
  EXPECT_DOUBLE_EQ(row.per_device[0].line_gbps.value_or(0), 100);
  EXPECT_FALSE(row.per_device[1].line_gbps || row.per_device[1].bound_gbps);
  EXPECT_FALSE(row.bound_gbps || row.line_gbps);
  ends["responder"]["hostname"] = "b";
  note_bounds(row, context);
  EXPECT_DOUBLE_EQ(row.line_gbps.value_or(0), 200) << "of another host";
  ends["initiator"]["boot_id"] = ends["responder"]["boot_id"] = "x";
  row.bound_gbps = {};
  row.line_gbps = {};
  note_bounds(row, context);
  EXPECT_FALSE(row.line_gbps) << "two containers of one host";
  ends["responder"]["boot_id"] = "y";
  ends["responder"]["hostname"] = "a";
  note_bounds(row, context);
  EXPECT_DOUBLE_EQ(row.line_gbps.value_or(0), 200) << "two hosts of one name";
}

ordered_json device_at(const char* name, const char* address) {
  ordered_json made = device(name, 100);
  made["pcie_speed"] = "8.0 GT/s PCIe";
  made["pcie_width"] = 8;
  made["pcie_address"] = address;
  return made;
}

TEST(PayloadBound, OfASlotIsHeldAgainstTheSumOfThePortsThatShareIt) {
  const ordered_json one = device_at("mlx5_0", "0000:1a:00.0"),
                     two = device_at("mlx5_1", "0000:1a:00.1"),
                     theirs = device_at("mlx5_2", "0000:5e:00.0"),
                     their_second = device_at("mlx5_3", "0000:5f:00.0");
  ordered_json context = context_of(one, theirs);
  ordered_json& ends = context["rdmameter"];
  ends["initiator"]["devices"] = {one, two};
  ends["responder"]["devices"] = {theirs, their_second};
  const auto noted = [&](Row row) {
    row.case_object["mtu_bytes"] = row.case_object["size_bytes"] = 4096;
    note_bounds(row, context);
    return row.per_device;
  };
  const double slot = 8.0 * 128 / 130 * 8 * kPcieShare;
  for (const DeviceData& device : noted(per_device_row())) {
    EXPECT_DOUBLE_EQ(device.slot_bound_gbps.value_or(0), slot);
    EXPECT_DOUBLE_EQ(device.slot_gbps.value_or(0), 96 + 48);
    EXPECT_DOUBLE_EQ(slot_percent(device).value_or(0), 100 * (96 + 48) / slot);
  }
  Row sum = per_device_row();
  sum.case_object["mtu_bytes"] = sum.case_object["size_bytes"] = 4096;
  note_bounds(sum, context);
  EXPECT_DOUBLE_EQ(bound_of(sum).value_or(0), slot) << "each device may have all of it";
  Row both_ways = per_device_row();
  both_ways.case_object["bidirectional"] = true;
  EXPECT_DOUBLE_EQ(noted(both_ways)[0].slot_bound_gbps.value_or(0), 2 * slot);
  Row in_device = per_device_row();
  in_device.case_object["memory"] = "device";
  EXPECT_FALSE(noted(in_device)[0].slot_gbps);
  // A slower slot of the peer's is the fuller one.
  ends["responder"]["devices"][1]["pcie_address"] = "0000:5e:00.1";
  for (ordered_json& device : ends["responder"]["devices"]) device["pcie_width"] = 4;
  EXPECT_DOUBLE_EQ(noted(per_device_row())[1].slot_bound_gbps.value_or(0), slot / 2);
  ends["initiator"]["devices"][1]["pcie_address"] = nullptr;
  ends["responder"]["devices"][1]["pcie_address"] = "0000:5f:00.0";
  EXPECT_FALSE(noted(per_device_row())[0].slot_gbps) << "none is shared";
}

TEST(PayloadBound, IsNotTheSlotsWhereThePayloadStaysInTheDevice) {
  ordered_json slow = device("dev0", 100);
  slow["pcie_speed"] = "5.0 GT/s PCIe";
  slow["pcie_width"] = 1;
  ordered_json other = slow;
  other["name"] = "dev1";
  Row row = row_of(4096);
  row.case_object["memory"] = "device";
  row.case_object["peer_memory"] = "host";
  note_bounds(row, context_of(slow, other));
  EXPECT_DOUBLE_EQ(*row.bound_gbps->initiator, 100.0 * 4096 / (4096 + 82));
  EXPECT_DOUBLE_EQ(*row.bound_gbps->responder, 5.0 * 8 / 10 * 0.85);
}

TEST(PayloadBound, IsNotNotedWhereNoLinkIsPassedOrItIsAnother) {
  const auto noted = [](const ordered_json& context, Row row) {
    note_bounds(row, context);
    return row.bound_gbps.has_value();
  };
  const ordered_json two = context_of(device("dev0", 100), device("dev1", 100));
  EXPECT_TRUE(noted(two, row_of(64)));
  EXPECT_FALSE(noted(context_of(device("dev0", 100), device("dev0", 100), "a"), row_of(64)));
  EXPECT_FALSE(noted(context_of(device("dev0", 100), nullptr), row_of(64)));
  EXPECT_FALSE(noted(two, latency_row("rc", 64, 0, 1)));
  Row other = row_of(64);
  other.case_object["peer_device"] = "dev2";
  EXPECT_FALSE(noted(two, other));
}

}  // namespace
}  // namespace rdmameter
