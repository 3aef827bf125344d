// SPDX-License-Identifier: Apache-2.0
#include "bench/running/lines/run_frame.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/running/status_line.h"
#include "core/base/printable.h"
#include "reports/text/environment_text.h"
#include "reports/text/text.h"

namespace rdmameter {

std::string run_header(const nlohmann::ordered_json& context,
                       const std::vector<std::string>& common, std::size_t width) {
  using Json = nlohmann::ordered_json;
  std::string text;
  for (const auto& [end, environment] : two_ends(context.at("rdmameter"))) {
    const Json device = environment.value("device", Json());
    if (!device.is_object()) continue;
    const Json host = environment.value("hostname", Json());
    text += wrap(
        fmt::format("{}  ", printable(end)),
        (host.is_string() ? printable(host.get<std::string>()) + " " : "") + device_line(device),
        width);
  }
  if (!common.empty())
    text += wrap("all cases  ", printable(fmt::format("{}", fmt::join(common, ", "))), width);
  return text;
}

std::string run_summary(const RunCount& count, double elapsed_s, const std::string& output,
                        std::size_t width) {
  const RunTally& rows = count.rows;
  std::string line = count_text(count.cases, "case") + " measured";
  if (rows.measured > count.cases) line += fmt::format(" ({} repetitions)", rows.measured);
  if (rows.skipped > 0) line += fmt::format(", {} skipped", rows.skipped);
  if (rows.failed > 0) line += fmt::format(", {} failed", count_text(rows.failed, "measurement"));
  line += fmt::format(" in {}", clock_text(elapsed_s));
  std::string text = wrap("", line, width);
  if (count.reasons.size() > 1)
    for (const auto& [reason, cases] : count.reasons)
      text += wrap(fmt::format("  {} skipped: ", cases), printable(reason), width);
  if (!output.empty() && output != "-")
    text += wrap("", fmt::format("'rdmameter show {}' prints tables", printable(output)), width);
  return text;
}

}  // namespace rdmameter
