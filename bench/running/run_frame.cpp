// SPDX-License-Identifier: Apache-2.0
#include "bench/running/run_frame.h"

#include <fmt/format.h>

#include "bench/running/status_line.h"
#include "core/base/printable.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

std::string value_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return "";
  return printable(found->is_string() ? found->get<std::string>() : found->dump());
}

/// ", MTU 4096 B"; empty where it is not known.
std::string fact(const Json& object, const char* key, std::string_view before,
                 std::string_view after = "") {
  const std::string value = value_of(object, key);
  return value.empty() ? "" : fmt::format(", {}{}{}", before, value, after);
}

/// "mlx5_0/1: Ethernet, 100.0 Gb/s, MTU 4096 B, GID 3 roce_v2 ::ffff:192.0.2.1, NUMA node 0"
std::string device_line(const Json& device) {
  std::string text = value_of(device, "name");
  if (const std::string port = value_of(device, "port_num"); !port.empty()) text += "/" + port;
  std::string facts = fact(device, "link_layer", "") + fact(device, "rate_gbps", "", " Gb/s") +
                      fact(device, "active_mtu_bytes", "MTU ", " B") +
                      fact(device, "gid_index", "GID ");
  for (const char* key : {"gid_type", "gid"})
    if (const std::string value = value_of(device, key); !value.empty()) facts += " " + value;
  facts += fact(device, "numa_node", "NUMA node ");
  return facts.empty() ? text : text + ": " + facts.substr(2);
}

}  // namespace

std::string run_header(const Json& context, std::size_t width) {
  std::string text;
  for (const char* end : {"initiator", "responder"}) {
    const Json environment = context.at("rdmameter").value(end, Json());
    if (!environment.is_object()) continue;
    const Json device = environment.value("device", Json());
    if (!device.is_object()) continue;
    const std::string host = value_of(environment, "hostname");
    text += wrap(fmt::format("{}  ", end), (host.empty() ? "" : host + " ") + device_line(device),
                 width);
  }
  return text;
}

std::string run_summary(const RunTally& tally, double elapsed_s, const std::string& output) {
  std::string text = fmt::format("{} measured", tally.measured);
  if (tally.skipped > 0) text += fmt::format(", {} skipped", tally.skipped);
  if (tally.failed > 0) text += fmt::format(", {} failed", tally.failed);
  text += fmt::format(" in {}", clock_text(elapsed_s));
  if (!output.empty() && output != "-")
    text += fmt::format("; 'rdmameter show {}' prints tables", printable(output));
  return text + "\n";
}

}  // namespace rdmameter
