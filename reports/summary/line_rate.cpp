// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/line_rate.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/result/row_json.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// The device of one end; null: none is known.
Json device_of(const Json& context, const char* end) {
  const Json environment = context.at("rdmameter").value(end, Json());
  return environment.is_object() ? environment.value("device", Json()) : Json();
}

/// Whatever it is.
std::optional<double> share_percent(std::optional<double> of_the_link, const Row& row) {
  const auto most = line_rate_gbps(of_the_link, row);
  if (!most || !row.bandwidth) return std::nullopt;
  return 100 * bandwidth_gbps(*row.bandwidth) / *most;
}

}  // namespace

bool passes_links(const Json& context) {
  const Json one = device_of(context, "initiator"), other = device_of(context, "responder");
  for (const Json& device : {one, other})
    if (!device.is_object() || device.value("driver", Json()) == "rdma_rxe") return false;
  const auto& ends = context.at("rdmameter");
  return one.value("name", Json()) != other.value("name", Json()) ||
         ends.at("initiator").value("hostname", Json()) !=
             ends.at("responder").value("hostname", Json());
}

std::optional<double> line_rate_gbps(const Json& context) {
  if (!passes_links(context)) return std::nullopt;
  std::optional<double> rate;
  for (const char* end : {"initiator", "responder"}) {
    const Json told = device_of(context, end).value("rate_gbps", Json());
    if (!told.is_number() || !(told.get<double>() > 0)) continue;
    rate = std::min(rate.value_or(told.get<double>()), told.get<double>());
  }
  return rate;
}

std::optional<double> line_rate_gbps(std::optional<double> of_the_link, const Row& row) {
  if (!of_the_link || row.name.starts_with("tcp_")) return std::nullopt;
  const bool both_ways =
      row.case_object.is_object() && row.case_object.value("bidirectional", Json()) == true;
  return *of_the_link * (both_ways ? 2 : 1);
}

std::optional<double> line_percent(std::optional<double> of_the_link, const Row& row) {
  const auto percent = share_percent(of_the_link, row);
  return percent && *percent <= kMostLinePercent ? percent : std::nullopt;
}

std::string line_doubt(double of_the_link, double percent) {
  if (percent <= kMostLinePercent) return "";
  return fmt::format(
      "Messages were faster than the link's {:g} Gb/s: they passed no link, or the driver tells "
      "another rate.",
      of_the_link);
}

std::string line_doubt(std::optional<double> of_the_link, const Row& row) {
  const auto percent = share_percent(of_the_link, row);
  return percent ? line_doubt(*of_the_link, *percent) : "";
}

}  // namespace rdmameter
