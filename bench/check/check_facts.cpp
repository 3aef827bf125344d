// SPDX-License-Identifier: Apache-2.0
#include "bench/check/check_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "bench/check/plan.h"
#include "core/base/printable.h"
#include "core/test_case/test_case.h"
#include "core/verbs/device.h"
#include "reports/stats/sample.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"

namespace rdmameter {
namespace {

const Json& device_at(const CheckSubject& subject, const char* end) {
  return fact_at(subject.context, fmt::format("/rdmameter/{}/device", end));
}

/// Is a device named, as a word, alone or with a port behind it ("mlx5_1/1", not "mlx5_10")?
bool names(const std::string& text, const std::string& device) {
  for (std::size_t at = text.find(device); at != text.npos; at = text.find(device, at + 1)) {
    const std::size_t end = at + device.size();
    if ((at == 0 || !is_word_character(text[at - 1], "_")) &&
        (end == text.size() || !is_word_character(text[end], "_")))
      return true;
  }
  return false;
}

/// Containers of one host may have names of their own, and hosts one name.
std::string host_of(const Json& context, const char* end) {
  const std::string boot = text_at(context, fmt::format("/rdmameter/{}/boot_id", end));
  return boot.empty() ? text_at(context, fmt::format("/rdmameter/{}/hostname", end)) : boot;
}

CheckedDevice device_of(const CheckSubject& subject, std::size_t index, bool is_peer) {
  const char* const end = is_peer ? "responder" : "initiator";
  return {.subject = index,
          .host = host_of(subject.context, end),
          .facts = device_at(subject, end),
          .findings = is_peer ? subject.peer_findings : subject.findings,
          .is_peer = is_peer};
}

/// The others' median, if the row's number is beyond its limit. Not find_straggler()'s way, which
/// compares the pairs of each rank with those of the others: here a device has one number of a test.
std::optional<double> worse_than(const Row& row, std::span<const Row* const> others,
                                 Metric metric) {
  const MetricInfo& info = info_of(metric);
  const auto own = info.value(row);
  std::vector<double> values;
  for (const Row* other : others)
    if (const auto value = other->status == Row::Status::ok ? info.value(*other) : std::nullopt)
      values.push_back(*value);
  if (!own || values.empty()) return std::nullopt;
  const double usual = median(values);
  const bool worse =
      info.higher_is_better ? *own < kLeastOfOthers * usual : *own > kMostOfLatency * usual;
  return worse ? std::optional(usual) : std::nullopt;
}

}  // namespace

std::string CheckedDevice::at_end() const {
  return is_peer ? fmt::format("the peer's {}: ", text_at(facts, "name")) : "";
}

std::vector<CheckedDevice> checked_devices(std::span<const CheckSubject> subjects) {
  std::vector<CheckedDevice> devices;
  for (const bool is_peer : {false, true})
    for (std::size_t i = 0; i < subjects.size(); ++i) {
      CheckedDevice device = device_of(subjects[i], i, is_peer);
      if (device.facts.is_object() && std::ranges::none_of(devices, [&](const CheckedDevice& one) {
            return one.host == device.host &&
                   text_at(one.facts, "name") == text_at(device.facts, "name");
          }))
        devices.push_back(std::move(device));
    }
  return devices;
}

bool of_one_model(const Json& one, const Json& other) {
  constexpr std::array kModel{"vendor_id", "vendor_part_id", "driver", "link_layer"};
  return one.is_object() && std::ranges::all_of(kModel, [&](const char* key) {
           return fact_at(one, key) == fact_at(other, key);
         });
}

bool are_siblings(const CheckSubject& one, const CheckSubject& other) {
  return !is_in_software(one) &&
         of_one_model(device_at(one, "initiator"), device_at(other, "initiator")) &&
         of_one_model(device_at(one, "responder"), device_at(other, "responder")) &&
         passes_links(one.context) == passes_links(other.context);
}

bool is_in_software(const CheckSubject& subject) {
  return std::ranges::any_of(std::array{"initiator", "responder"}, [&](const char* end) {
    const Json& device = device_at(subject, end);
    const std::string driver = text_at(device, "driver");
    return driver == "rdma_rxe" || driver == "siw" ||
           text_at(device, "netdev") == "lo";  // no adapter's addresses are there
  });
}

std::string cause_of(const CheckedDevice& device, std::string_view check) {
  for (const Json& finding : device.findings)
    if (text_at(finding, "check") == check &&
        names(text_at(finding, "cause"), text_at(device.facts, "name")))
      return text_at(finding, "cause");
  return "";
}

bool may_be_8b10b(const Json& device) {
  constexpr double kQdr_gbps = 10;  // of a lane
  const auto rate_gbps = number_at(device, "rate_gbps"), lanes = number_at(device, "lanes");
  return text_at(device, "link_layer") == "InfiniBand" && rate_gbps && lanes &&
         *rate_gbps <= kQdr_gbps * *lanes;
}

std::string why_no_bound(const CheckSubject& subject) {
  if (!passes_links(subject.context)) return "messages pass no link";
  for (const bool is_peer : {false, true}) {
    const CheckedDevice device = device_of(subject, 0, is_peer);
    const std::string who = is_peer ? "the peer's " + text_at(device.facts, "name") : "the device";
    if (fact_at(device.facts, "virtual_function") == true)
      return who + " is a virtual function, which shares its link";
    if (!cause_of(device, "bond").empty()) return who + " is a bond";
    if (may_be_8b10b(device.facts))
      return "its link may be SDR, DDR or QDR, whose coding is not in the bound";
    if (!payload_limits(device.facts).line_gbps)
      return is_peer ? "the rate of the peer's link is not known"
                     : "the rate of the link is not known";
    if (!payload_limits(device.facts).header_bytes) return "the headers of packets are not known";
  }
  return "";
}

std::optional<double> direction_gbps(const Row& row, const char* direction) {
  constexpr double kBitsPerByte = 8;
  const Json& one = fact_at(row.extra, fmt::format("/directions/{}", direction));
  const auto messages = number_at(one, "messages"), window_ns = number_at(one, "window_ns");
  const auto size_bytes = number_at(row.case_object, "size_bytes");
  if (!messages || !window_ns || !size_bytes || *window_ns <= 0) return std::nullopt;
  return kBitsPerByte * *size_bytes * *messages / *window_ns;
}

std::optional<double> watched_number(const Row& row) {
  if (row.status != Row::Status::ok) return std::nullopt;
  const MetricInfo* const metric = watched_metric(row);
  return metric == nullptr ? std::nullopt : metric->value(row);
}

std::string watched_text(const Row& row, double value) {
  return metric_text(watched_metric(row)->metric, value);
}

std::optional<double> usual_of_better(const Row& row, std::span<const Row* const> others) {
  if (!watched_number(row)) return std::nullopt;
  const Metric watched = watched_metric(row)->metric;
  const auto usual = worse_than(row, others, watched);
  return is_time(watched) && !worse_than(row, others, Metric::min) ? std::nullopt : usual;
}

std::set<std::string> expected_devices(std::span<const Row> rows) {
  std::set<std::string> names;
  for (const Row& row : rows) {
    const std::string name = text_at(row.case_object, "device");
    const std::string test = text_at(row.case_object, "test");
    if (row.status == Row::Status::ok && !name.empty() && name != "null" &&
        name.find(kDeviceSeparator) == name.npos &&
        std::ranges::find(check_tests(), test, &CheckTest::catalog) != check_tests().end())
      names.insert(name);
  }
  return names;
}

std::optional<std::string> link_layer_of(const Json& examination, const std::string& device) {
  for (const Json& port : list_at(examination, "ports"))
    if (text_at(port, "name").starts_with(device + "/")) return text_at(port, "link_layer");
  return std::nullopt;
}

std::string why_unusable(const PortFacts& port, std::span<const PortFacts> all) {
  if (port.usable()) return "";
  if (!port.opens()) return "cannot be opened";
  const bool expected = port.state == IBV_PORT_INIT || port.state == IBV_PORT_ARMED ||
                        std::ranges::any_of(all, [&](const PortFacts& other) {
                          return other.usable() && kind_name(other) == kind_name(port);
                        });
  if (!expected) return "";
  return port.state == IBV_PORT_ACTIVE ? "no GID" : std::string(port_state_name(port.state));
}

std::string slot_text(const Json& device) {
  constexpr std::array kGenerations{2.5, 5.0, 8.0, 16.0, 32.0, 64.0};  // [GT/s]
  const double speed = std::strtod(text_at(device, "pcie_speed").c_str(), nullptr);
  const auto* const known = std::ranges::find(kGenerations, speed);
  const double lanes = number_at(device, "pcie_width").value_or(0);
  if (known == kGenerations.end()) return fmt::format("slot x{:g}, {:g} GT/s", lanes, speed);
  return fmt::format("slot x{:g} Gen{}", lanes, known - kGenerations.begin() + 1);
}

}  // namespace rdmameter
