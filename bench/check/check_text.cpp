// SPDX-License-Identifier: Apache-2.0
#include "bench/check/check_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "bench/check/check_facts.h"
#include "core/base/lists.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/metric.h"
#include "reports/text/table.h"

namespace rdmameter {
namespace {

/// Whose cause is a device's finding, or that no device is there, which measuring tells.
constexpr std::array<std::string_view, 3> kToldOtherwise{"device", "slot_rate", "link"};

std::string reasons_of(const CheckReport& report, std::size_t subject) {
  std::string text;
  for (const CheckFinding& finding : report.findings)
    if (finding.subject == subject) add_item(text, finding.text, "; ");
  return text;
}

/// @param subject  nothing: any
bool is_measured(const CheckReport& report, std::optional<std::size_t> subject = {}) {
  return std::ranges::any_of(report.readings, [=](const CheckReading& reading) {
    return (!subject || reading.subject == *subject) && reading.row->status == Row::Status::ok;
  });
}

std::string_view verdict_of(const CheckReport& report, std::size_t subject) {
  const auto found = filtered(
      report.findings, [=](const CheckFinding& finding) { return finding.subject == subject; });
  if (std::ranges::find(found, CheckReason::failed, &CheckFinding::reason) != found.end())
    return "broken";
  if (!found.empty()) return "degraded";
  return is_measured(report, subject) ? "well" : "not measured";
}

/// The subjects of one device each.
std::span<const CheckSubject> devices_of(const CheckReport& report) {
  const auto together = std::ranges::find(report.subjects, true, &CheckSubject::together);
  return {report.subjects.begin(), together};
}

bool was_tried(const CheckReport& report, std::size_t subject) {
  return std::ranges::find(report.readings, subject, &CheckReading::subject) !=
         report.readings.end();
}

/// Of how many devices there are readings, and which ports and devices are not among them.
std::string measured_text(const CheckReport& report) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> left_out;
  const std::size_t devices = devices_of(report).size();
  for (std::size_t i = 0; i < devices; ++i)
    if (!was_tried(report, i)) left_out.push_back(report.subjects[i].name + " (no time)");
  const std::string measured = count_text(devices - left_out.size(), "device");
  for (const UnusablePort& port : report.unusable)
    left_out.push_back(fmt::format("{} ({})", port.where, port.why));
  if (const std::size_t all = left_out.size(); all > kMostNamed) {
    left_out.resize(kMostNamed);
    left_out.back() += fmt::format(" and {} more", all - kMostNamed);
  }
  return fmt::format("({}, {:.0f} s){}{}", measured, report.elapsed_s,
                     left_out.empty() ? "" : "; not measured: ", fmt::join(left_out, ", "));
}

/// "mlx5_0" or, if that is another one, "mlx5_0 - mlx5_1".
std::string pair_name(const CheckSubject& subject) {
  if (subject.together) return subject.name;
  const std::string peer = text_at(subject.context, "/rdmameter/responder/device/name");
  return peer.empty() || peer == subject.name ? subject.name
                                              : fmt::format("{} - {}", subject.name, peer);
}

std::vector<std::string_view> labels_of(const CheckReport& report) {
  std::vector<std::string_view> labels;
  for (const CheckReading& reading : report.readings)
    if (reading.subject < devices_of(report).size()) add_once(labels, reading.label);
  return labels;
}

const Row* row_of(const CheckReport& report, std::size_t subject, std::string_view label) {
  for (const CheckReading& reading : report.readings)
    if (reading.subject == subject && reading.label == label) return reading.row;
  return nullptr;
}

constexpr double kNsPerUs = 1e3;
constexpr int kDecimals = 2;

std::string number_cell(const Row* row) {
  const auto value = row == nullptr ? std::nullopt : watched_number(*row);
  if (!value) return kUnknown;
  return three_digits(row->bandwidth ? *value : *value / kNsPerUs, kDecimals);
}

/// The numbers of one test: "write both ways" has a head and a qualifier.
Table::Column column_of(const CheckReport& report, std::string_view label) {
  const std::size_t space = std::min(label.find(' '), label.size());
  Table::Column column{.head = std::string(label.substr(0, space)),
                       .unit = label.ends_with("_lat") ? "µs" : "Gb/s",
                       .qualifier = std::string(label.substr(std::min(space + 1, label.size())))};
  for (std::size_t subject = 0; subject < devices_of(report).size(); ++subject)
    column.cells.emplace_back(number_cell(row_of(report, subject, label)));
  return column;
}

std::string numbers_text(const CheckReport& report, const TextStyle& style) {
  Table table{.key_columns = 1};
  table.columns.push_back({.head = "device", .is_text = true});
  for (const CheckSubject& subject : devices_of(report))
    table.columns.front().cells.emplace_back(pair_name(subject));
  for (const std::string_view label : labels_of(report))
    table.columns.push_back(column_of(report, label));
  return render(table, style);
}

/// What `doctor` has found that a device's own verdict does not tell: of this machine, of the peer,
/// and of both. Those of this weight alone, each with its `cause` beginning with the machine.
std::vector<Json> machine_findings(const CheckReport& report, std::string_view weight) {
  std::vector<Json> found;
  if (report.subjects.empty()) return found;
  const CheckSubject& any = report.subjects.front();  // of one machine, as all are
  const bool two = any.peer_findings.is_array();
  for (const auto& [findings, where] :
       {std::pair(&any.findings, two ? "here: " : ""), {&any.peer_findings, "the peer: "}})
    for (Json finding : *findings) {
      const std::string check = text_at(finding, "check");
      if (text_at(finding, "weight") != weight ||
          std::ranges::find(kToldOtherwise, check) != kToldOtherwise.end())
        continue;
      finding["cause"] = fmt::format("{}{}: {}", where, check, text_at(finding, "cause"));
      found.push_back(std::move(finding));
    }
  return found;
}

std::string remedies_text(const CheckReport& report, std::size_t width) {
  std::string text;
  std::vector<std::pair<std::size_t, CheckReason>> told;
  for (const CheckFinding& finding : report.findings) {
    if (!add_once(told, {finding.subject, finding.reason})) continue;
    text += wrap(fmt::format("  {}: ", report.subjects[finding.subject].name),
                 remedy_of(finding.reason), width);
  }
  for (const Json& problem : machine_findings(report, "problem"))
    text += wrap("  ", text_at(problem, "remedy"), width);
  return text.empty() ? text : "\nwhat to do:\n" + text;
}

}  // namespace

bool is_well(const CheckReport& report) {
  return report.findings.empty() && machine_findings(report, "problem").empty();
}

std::string check_line(const CheckReport& report, bool reasons) {
  std::string bad;
  std::string_view verdict = !is_well(report)      ? "degraded"
                             : is_measured(report) ? "well"
                                                   : "not measured";
  for (std::size_t i = 0; i < report.subjects.size(); ++i) {
    const std::string why = reasons_of(report, i);
    if (why.empty()) continue;
    if (verdict_of(report, i) == "broken") verdict = "broken";
    bad += fmt::format("{}{}{}",
                       bad.empty() ? ": "
                       : reasons   ? "; "
                                   : ", ",
                       report.subjects[i].name, reasons ? ": " + why : "");
  }
  for (const Json& problem : machine_findings(report, "problem"))
    bad += fmt::format("{}{}", bad.empty() ? ": " : "; ",
                       text_at(problem, reasons ? "cause" : "check"));
  return fmt::format("{}{} {}", verdict, bad, measured_text(report));
}

std::string check_text(const CheckReport& report, const TextStyle& style) {
  std::size_t names = 0;
  for (const CheckSubject& subject : report.subjects)
    names = std::max(names, text_width(pair_name(subject)));
  for (const UnusablePort& port : report.unusable) names = std::max(names, text_width(port.where));
  std::string text;
  for (std::size_t i = 0; i < report.subjects.size(); ++i) {
    const std::string why = was_tried(report, i) ? reasons_of(report, i) : "no time";
    text += wrap(pad_right(pair_name(report.subjects[i]), names) + "  ",
                 fmt::format("{}{}{}", verdict_of(report, i), why.empty() ? "" : ": ", why),
                 style.width);
  }
  for (const UnusablePort& port : report.unusable)
    text += wrap(pad_right(port.where, names) + "  ", "not measured: " + port.why, style.width);
  text += "\n" + numbers_text(report, style) + "\n";
  for (const char* weight : {"problem", "warning"})
    for (const Json& finding : machine_findings(report, weight))
      text += wrap(fmt::format("{}: ", weight), text_at(finding, "cause"), style.width);
  for (const std::string& warning : loss_warnings(report.subjects, report.readings))
    text += wrap("warning: ", warning, style.width);
  for (const std::string& note : report.notes) {
    const std::size_t colon = note.find(": ") + 2;
    text += wrap(note.substr(0, colon), note.substr(colon), style.width);
  }
  text += remedies_text(report, style.width);
  return printable_lines(text) + "\n" + check_line(report, false) + "\n";
}

}  // namespace rdmameter
