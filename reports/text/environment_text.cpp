// SPDX-License-Identifier: Apache-2.0
#include "reports/text/environment_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rdmameter {
namespace {

constexpr std::size_t kMaxFacts = 48;  ///< of one end; the file has them all

/// Facts for programs: what tells hosts apart, numbers of a vendor, reasons in long sentences.
constexpr std::string_view kForPrograms[] = {"version",          "boot_id",
                                             "clock reason",     "clock ticks_per_ns",
                                             "device vendor_id", "device vendor_part_id"};

Facts facts_of(const Json& end) {
  Facts facts = flatten(end);
  std::erase_if(facts,
                [](const auto& fact) { return std::ranges::count(kForPrograms, fact.first) > 0; });
  return facts;
}

void flatten_into(Facts& facts, const std::string& prefix, const Json& value) {
  if (value.is_object())
    for (const auto& [key, inner] : value.items())
      flatten_into(facts, prefix.empty() ? printable(key) : prefix + " " + printable(key), inner);
  if (value.is_structured()) return;
  const std::string text = value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
                           : value.is_boolean()    ? (value.get<bool>() ? "yes" : "no")
                                                   : value_text(value);
  if (!text.empty()) facts.emplace_back(prefix, text);
}

/// "cpu model: Example; device mtu bytes: 4096"
std::string joined(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : std::span(facts).first(std::min(facts.size(), kMaxFacts)))
    add_item(text, fmt::format("{}: {}", with_spaces(name), value), "; ");
  if (facts.size() > kMaxFacts) text += fmt::format("; and {} more", facts.size() - kMaxFacts);
  return text;
}

/// ", MTU 4096 B"; empty where it is not known.
std::string fact(const Json& object, const char* key, std::string_view before,
                 std::string_view after = "") {
  const std::string value = value_text(fact_at(object, key));
  return value.empty() ? "" : fmt::format(", {}{}{}", before, value, after);
}

/// The list of fact()s without the comma that it begins with.
std::string without_comma(const std::string& facts) {
  return facts.empty() ? "" : facts.substr(2);
}

/// Who an end is, and what of it makes a figure what it is. The names are not told.
Facts short_facts_of(const Json& end) {
  const Json& device = fact_at(end, "device");
  const std::string build = value_text(fact_at(end, "build"));
  Facts facts{
      {"host", value_text(fact_at(end, "hostname"))},
      {"device", device_line(device)},
      {"pcie",
       without_comma(fact(device, "pcie_speed", "PCIe ") + fact(device, "pcie_width", "x"))},
      {"driver",
       without_comma(fact(device, "driver", "driver ") + fact(device, "firmware", "firmware "))},
      {"cpu", without_comma(fact(end, "cpu_model", "") + fact(end, "cpu_count", "", " CPUs") +
                            fact(end, "cpu_governor", "governor "))},
      {"kernel", value_text(fact_at(end, "kernel"))},
      {"virtualized", fact_at(end, "virtualized") == true ? "virtual machine" : ""},
      {"libibverbs", without_comma(fact(end, "libibverbs", "libibverbs "))},
      {"build", build.empty() || build == "optimised" ? "" : "build: " + build}};
  std::erase_if(facts, [](const auto& known) { return known.second.empty(); });
  return facts;
}

/// "ranks 0, 2, 4", "ranks 0, 2, 4, 6 ... 62 (32 ranks)"
std::string ranks_text(const std::vector<std::string>& ranks) {
  constexpr std::size_t kMaxNamed = 8, kFirst = 4;
  if (ranks.size() == 1) return "rank " + ranks.front();
  if (ranks.size() <= kMaxNamed) return fmt::format("ranks {}", fmt::join(ranks, ", "));
  return fmt::format("ranks {} ... {} ({} ranks)",
                     fmt::join(ranks.begin(), ranks.begin() + kFirst, ", "), ranks.back(),
                     ranks.size());
}

}  // namespace

Facts take_common(std::vector<Facts>& all) {
  Facts common;
  for (const auto& fact : all.front())
    if (std::ranges::all_of(
            all, [&](const Facts& facts) { return std::ranges::count(facts, fact) > 0; }))
      common.push_back(fact);
  for (Facts& facts : all)
    std::erase_if(facts, [&](const auto& fact) { return std::ranges::count(common, fact) > 0; });
  return common;
}

Facts flatten(const Json& object) {
  Facts facts;
  flatten_into(facts, "", object);
  return facts;
}

Facts end_facts(const Json& ours, bool all) {
  constexpr std::size_t kMaxEnds = 16;
  const std::vector<EnvironmentEnd> ends = environment_ends(ours);
  std::vector<Facts> facts = mapped(ends, [all](const EnvironmentEnd& end) {
    return all ? facts_of(end.environment) : short_facts_of(end.environment);
  });
  const auto told = [all](const Facts& some) {
    return all ? joined(some)
               : fmt::format("{}", fmt::join(mapped(some, &Facts::value_type::second), "; "));
  };
  Facts lines;
  if (ends.size() > 1) {
    const bool two = ends.size() == 2 && ends.front().name == "initiator";
    lines.emplace_back(two                                     ? "both ends"
                       : ends.front().name.starts_with("rank") ? "all ranks"
                                                               : "all ends",
                       told(take_common(facts)));
  }
  for (std::size_t i = 0; i < std::min(ends.size(), kMaxEnds); ++i)
    lines.emplace_back(ends[i].name, told(facts[i]));
  if (ends.size() > kMaxEnds)
    lines.emplace_back(
        "others", fmt::format("{} more environments, which the file has", ends.size() - kMaxEnds));
  std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
  return lines;
}

std::string labelled(std::string_view label, const std::string& value, const TextStyle& style) {
  if (value.empty()) return "";
  return wrap(pad_right(fmt::format("  {}  ", label), 14), value, style.width);
}

std::string device_line(const Json& device) {
  std::string text = value_text(fact_at(device, "name"));
  if (const std::string port = value_text(fact_at(device, "port_num")); !port.empty())
    text += "/" + port;
  const bool rate_untold = device.contains("rate_gbps") && device.at("rate_gbps").is_null();
  std::string facts = fact(device, "link_layer", "") + fact(device, "rate_gbps", "", " Gb/s") +
                      (rate_untold ? ", link rate not known" : "") +
                      fact(device, "active_mtu_bytes", "MTU ", " B") +
                      fact(device, "gid_index", "GID ");
  for (const char* key : {"gid_type", "gid"})
    if (const std::string value = value_text(fact_at(device, key)); !value.empty())
      facts += " " + value;
  facts += fact(device, "numa_node", "NUMA node ");
  return facts.empty() ? text : text + ": " + facts.substr(2);
}

std::string describe_context(const ResultFile& file, bool all, const TextStyle& style) {
  const Json& ours = file.context.at("rdmameter");
  std::string text = bold(printable(file.path), style) + "\n";
  const std::string date = printable(text_at(file.context, "date"));
  text += labelled("version",
                   printable(text_at(ours, "version")) + (date.empty() ? "" : ", " + date), style);
  text += labelled("command", printable(text_at(ours, "command")), style);
  for (const auto& [label, facts] : end_facts(ours, all)) text += labelled(label, facts, style);
  return text + labelled("overhead", joined(flatten(ours.at("floor"))), style);
}

std::vector<EnvironmentEnd> two_ends(const Json& ours) {
  std::vector<EnvironmentEnd> ends;
  for (const char* role : {"initiator", "responder"})
    if (const Json& end = fact_at(ours, role); end.is_object()) ends.push_back({role, end});
  for (Json one : list_at(ours, "responders")) {
    if (!one.is_object()) continue;
    const std::string host = text_at(one, "host");
    one.erase("host");
    ends.push_back({"responder " + (host.empty() ? "?" : host), std::move(one)});
  }
  return ends;
}

std::vector<EnvironmentEnd> environment_ends(const Json& ours) {
  std::vector<EnvironmentEnd> ends = two_ends(ours);
  std::vector<std::pair<Json, std::vector<std::string>>> groups;
  for (Json one : list_at(ours, "ranks")) {
    if (!one.is_object()) continue;
    const Json rank = fact_at(one, "rank");
    one.erase("rank");
    // Of each process its own, and none of what tells machines apart.
    if (fact_at(one, "clock").is_object())
      for (const char* key : {"error_ppm", "ticks_per_ns", "resolution_ns", "reason"})
        one.at("clock").erase(key);
    entry_of(groups, one).push_back(rank.is_number_unsigned() ? rank.dump() : "?");
  }
  for (auto& [environment, ranks] : groups)
    ends.push_back({ranks_text(ranks), std::move(environment)});
  return ends;
}

}  // namespace rdmameter
