// SPDX-License-Identifier: Apache-2.0
#include "bench/doctor/examination_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/log/print.h"
#include "reports/text/terminal_lines.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kToldByRun = 2;

/// The text of a key; "not known": it is null.
std::string text_of(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "not known";
}

std::string versions_text(const nlohmann::ordered_json& versions, std::size_t width) {
  std::string text =
      wrap("",
           fmt::format("rdmameter {}, {}, libibverbs {}", text_of(versions, "rdmameter"),
                       text_of(versions, "kernel"), text_of(versions, "libibverbs")),
           width);
  for (const auto& device : versions.at("devices"))
    text += wrap(text_of(device, "name") + ": ",
                 fmt::format("driver {}, its version {}, firmware {}", text_of(device, "driver"),
                             text_of(device, "driver_version"), text_of(device, "firmware")),
                 width);
  return text;
}

}  // namespace

std::string findings_text(const nlohmann::ordered_json& findings, std::size_t width) {
  std::string text;
  for (const auto& finding : findings) {
    text +=
        wrap(text_of(finding, "weight") + ": ",
             fmt::format("{}: {}", text_of(finding, "check"), text_of(finding, "cause")), width);
    text += wrap("  remedy: ", text_of(finding, "remedy"), width);
  }
  return text;
}

std::string examination_text(const nlohmann::ordered_json& examination, std::size_t width) {
  std::string text = versions_text(examination.at("versions"), width);
  text += findings_text(examination.at("findings"), width);
  if (examination.at("findings").empty()) text += "nothing found that spoils a measurement\n";
  std::string unknown;
  for (const auto& check : examination.at("unknown"))
    unknown += (unknown.empty() ? "" : ", ") + check.get<std::string>();
  if (!unknown.empty()) text += wrap("not known here: ", unknown, width);
  return text;
}

std::string worst_findings_line(const std::vector<Finding>& findings) {
  std::string line;
  std::size_t told = 0, more = 0;
  for (const Finding& finding : findings) {
    if (finding.check == "device") continue;
    if (++told > kToldByRun)
      ++more;
    else
      line += fmt::format("{}{}: {}: {}", line.empty() ? "" : "; ", weight_name(finding.weight),
                          finding.check, finding.cause);
  }
  if (line.empty()) return line;
  const std::string others = more > 0 ? fmt::format("; {} more", more) : "";
  return fmt::format("{}{} (remedies: rdmameter doctor)\n", line, others);
}

void tell_worst_findings() {
  const char* const variable = std::getenv(kDoctorVariable);
  if (variable != nullptr && std::string_view(variable) == "off") return;
  tell_text(for_stderr(worst_findings_line(examine().findings)));
}

}  // namespace rdmameter
