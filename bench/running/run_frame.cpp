// SPDX-License-Identifier: Apache-2.0
#include "bench/running/run_frame.h"

#include <fmt/format.h>

#include "bench/running/status_line.h"
#include "core/base/printable.h"
#include "reports/text/environment_ends.h"
#include "reports/text/environment_text.h"
#include "reports/text/text.h"

namespace rdmameter {

std::string run_header(const nlohmann::ordered_json& context, std::size_t width) {
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
