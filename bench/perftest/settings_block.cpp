// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/settings_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "core/base/parse_value.h"
#include "core/engine/loop/bandwidth.h"
#include "core/result/json_text.h"

namespace rdmameter {
namespace {

/// Before a setting: on a line of its own, or on that of the one before.
constexpr const char *kOwnLine = "\n ", *kBeside = "\t\t";

struct Setting {
  const char* name;      ///< in the block, to the letter; empty: it is not there
  const char* key;       ///< in the file; empty: it is not there
  nlohmann::json value;  ///< a text or a number
  const char* unit = "";
  const char* before = kOwnLine;
};

/// What is known of the device; null else.
nlohmann::json device_fact(const nlohmann::ordered_json& environment, const char* key) {
  const auto device = environment.is_object()
                          ? environment.value("device", nlohmann::ordered_json())
                          : nlohmann::ordered_json();
  return device.is_object() ? device.value(key, nlohmann::ordered_json()) : nullptr;
}

std::string text_of(const nlohmann::json& value) {
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

const char* on_off(bool on) {
  return on ? "ON" : "OFF";
}

std::string in_capitals(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// Up to which size messages are inlined: what perftest asks for, or what the device took of it. A
/// longer message asks for none.
std::uint64_t inline_shown(const PerftestReport& report, const TestCase& test_case) {
  if (test_case.size_bytes > report.inline_bytes) return report.inline_bytes;
  return std::min(report.inline_bytes, test_case.queues.inline_bytes);
}

std::vector<Setting> settings_of(const PerftestReport& report, const TestCase& test_case,
                                 const nlohmann::ordered_json& environment) {
  const QueueSettings& queues = test_case.queues;
  const EndSettings& end = test_case.end(report.server ? Role::responder : Role::initiator);
  const bool bandwidth = report.table == PerftestReport::Table::bandwidth;
  const std::string link = in_capitals(text_of(device_fact(environment, "link_layer")));
  const bool ethernet = link.starts_with('E');
  std::vector<Setting> all{
      {"Dual-port       ", "Dual_port", "OFF"},
      {"Device         ", "Device", text_of(device_fact(environment, "name")), "", kBeside},
      {"Number of qps   ", "Number_of_qps", test_case.qps},
      {"Transport type ", "Transport_type", report.transport, "", kBeside},
      {"Connection type ", "Connection_type", in_capitals(transport_text(test_case))},
      {"Using SRQ      ", "Using_SRQ", on_off(test_case.shared_receives()), "", kBeside},
      {"PCIe relax order", "PCIe_relax_order", on_off(test_case.relaxes_ordering())},
      {"Lock-free      ", "", on_off(queues.thread_domain == 1), "", kBeside},
      {"ibv_wr* API     ", "ibv_wr_API", on_off(test_case.extended_api())},
      {"Using Enhanced Reorder      ", "", "OFF", "", kBeside}};
  const auto add = [&all](bool shown, Setting setting) {
    if (shown) all.push_back(std::move(setting));
  };
  add(!report.server || test_case.bidirectional,
      {"TX depth        ", "TX_depth", bandwidth ? queues.depth : 1});
  add(queues.post_list > 1, {"Post List       ", "Post_List", queues.post_list});
  add(queues.recv_post_list > 1 && report.recv_list_given && test_case.takes_receive(),
      {"Recv Post List  ", "Recv_Post_List", queues.recv_post_list});
  // perftest's client names it only where it receives as well.
  add(test_case.takes_receive() && (report.server || test_case.bidirectional),
      {"RX depth        ", "RX_depth", queues.rx_depth});
  add(bandwidth, {"CQ Moderation   ", "CQ_Moderation", queues.signal_every});
  add(bandwidth, {"CQE Poll Batch  ", "", kCqeBatch});
  const nlohmann::json mtu = test_case.path.mtu_bytes != kAuto && test_case.path.mtu_bytes != 0
                                 ? nlohmann::json(test_case.path.mtu_bytes)
                                 : device_fact(environment, "active_mtu_bytes");
  add(!mtu.is_null(), {"Mtu             ", "Mtu", mtu, "[B]"});
  add(!link.empty(), {"Link type       ", "Link_type", ethernet ? "Ethernet" : "IB"});
  const nlohmann::json gid = end.gid_index != kAuto ? nlohmann::json(end.gid_index)
                                                    : device_fact(environment, "gid_index");
  add(!gid.is_null() && perftest_names_gid(report, ethernet),
      {"GID index       ", "GID_index", gid});
  if (!test_case.returns_data())
    add(true, {"Max inline data ", "Max_inline_data", inline_shown(report, test_case), "[B]"});
  else
    add(queues.outstanding_reads != kAuto,
        {"Outstand reads  ", "Outstand_reads", queues.outstanding_reads});
  add(true, {"rdma_cm QPs\t ", "rdma_cm_QPs", on_off(test_case.by_cm())});
  if (end.memory.starts_with(kCudaMemory))
    add(true, {"", "cuda_device", parse_count(end.memory.substr(kCudaMemory.size())).value_or(0)});
  const bool rocm = end.memory.starts_with(kRocmMemory);
  add(true, {rocm ? "Use ROCm memory" : "", "Use_ROCm_memory", on_off(rocm)});
  add(true, {"", "Use_MUSA_memory", "OFF"});
  add(true, {"Data ex. method ", "Data_ex_method", test_case.by_cm() ? "rdma_cm" : "Ethernet"});
  add(test_case.by_cm() && test_case.path.traffic_class != 0,
      {"TOS    ", "TOS", test_case.path.traffic_class, "", " \t"});
  return all;
}

}  // namespace

std::string perftest_banner(const PerftestReport& report, const TestCase& test_case,
                            const nlohmann::ordered_json& environment) {
  if (report.output != PerftestReport::Output::full) return "";
  std::string text = fmt::format("{}                    {}", kPerftestDashes, report.title);
  if (test_case.wait == Wait::event)
    text += fmt::format("{}Test with events. Using {}_comp{}", kOwnLine,
                        text_of(device_fact(environment, "name")), test_case.queues.comp_vector);
  if (test_case.multicast()) text += fmt::format("{}MultiCast runs on UD!", kOwnLine);
  for (const Setting& setting : settings_of(report, test_case, environment))
    if (*setting.name != '\0')
      text += fmt::format("{}{}: {}{}", setting.before, setting.name, text_of(setting.value),
                          setting.unit);
  text += '\n';
  if (report.server && test_case.by_cm())
    text += fmt::format(
        "{} Waiting for client rdma_cm QP to connect\n"
        " Please run the same command with the IB/RoCE interface IP\n",
        kPerftestDashes);
  return text + std::string(kPerftestDashes);
}

std::string perftest_test_info(const PerftestReport& report, const TestCase& test_case,
                               const nlohmann::ordered_json& environment) {
  std::string title = report.title;
  std::ranges::replace(title, ' ', '_');
  std::string text = fmt::format("\"test_info\": {{\n\"test\": \"{}\"", title);
  const auto put = [&text](const char* key, const nlohmann::json& value) {
    text += fmt::format(",\n\"{}\": {}", key, json_text(value));
  };
  if (test_case.wait == Wait::event)
    put("Test with events",
        fmt::format("Using_{}_comp{}", text_of(device_fact(environment, "name")),
                    test_case.queues.comp_vector));
  if (test_case.multicast()) put("MultiCast_runs", "on_UD");
  for (const Setting& setting : settings_of(report, test_case, environment))
    if (*setting.key != '\0') put(setting.key, setting.value);
  return text + "\n}";
}

}  // namespace rdmameter
