// SPDX-License-Identifier: Apache-2.0
#include "bench/doctor/examination_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/log/print.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kToldByRun = 2;

/// The text of a key; "not known": it is null.
std::string text_of(const Json& object, const char* key) {
  const Json& text = fact_at(object, key);
  return text.is_null() ? "not known" : value_text(text);
}

std::string versions_text(const Json& versions, std::size_t width) {
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

std::string findings_text(const Json& findings, std::size_t width) {
  std::string text;
  for (const auto& finding : findings) {
    text +=
        wrap(text_of(finding, "weight") + ": ",
             fmt::format("{}: {}", text_of(finding, "check"), text_of(finding, "cause")), width);
    text += wrap("  remedy: ", text_of(finding, "remedy"), width);
  }
  return text;
}

std::string examination_text(const Json& examination, std::size_t width) {
  std::string text = versions_text(examination.at("versions"), width);
  text += findings_text(examination.at("findings"), width);
  if (examination.at("findings").empty()) text += "nothing found that spoils a measurement\n";
  std::string unknown;
  for (const auto& check : examination.at("unknown")) add_item(unknown, check.get<std::string>());
  if (!unknown.empty()) text += wrap("not known here: ", unknown, width);
  return text;
}

std::string worst_findings_line(const std::vector<Finding>& findings) {
  std::string line;
  std::size_t told = 0;
  for (const Finding& finding : findings) {
    if (finding.check == "device") continue;
    if (++told <= kToldByRun)
      add_item(line,
               fmt::format("{}: {}: {}", weight_name(finding.weight), finding.check, finding.cause),
               "; ");
  }
  if (line.empty()) return line;
  const std::string others = told > kToldByRun ? fmt::format("; {} more", told - kToldByRun) : "";
  return fmt::format("{}{} (remedies: rdmameter doctor)\n", line, others);
}

void tell_worst_findings() {
  const char* const variable = std::getenv(kDoctorVariable);
  if (variable != nullptr && std::string_view(variable) == "off") return;
  tell_text(for_stderr(worst_findings_line(examine().findings)));
}

namespace {

using Port = Json;

/// A peer may leave out what it does not know. Do both ends know it, and is it different?
bool differ(const Port& here, const Port& peer, const char* key) {
  const Port &ours = fact_at(here, key), &theirs = fact_at(peer, key);
  return !ours.is_null() && !theirs.is_null() && ours != theirs;
}

/// Adds the finding where the two differ. Its cause goes on with "mlx5_0/1 here has 100 Gb/sec
/// (4X EDR), mlx5_1/1 there 40 Gb/sec (4X QDR)".
void compare_fact(const Port& here, const Port& peer, const char* key, Finding finding,
                  std::vector<Finding>& findings) {
  if (!differ(here, peer, key)) return;
  finding.cause += fmt::format("{} here has {}, {} there {}", text_of(here, "name"),
                               text_of(here, key), text_of(peer, "name"), text_of(peer, key));
  findings.push_back(std::move(finding));
}

void compare_gid_types(const Port& here, const Port& peer, std::vector<Finding>& findings) {
  const auto ours = here.at("gid_types").get<std::vector<std::string>>();
  const auto theirs = peer.at("gid_types").get<std::vector<std::string>>();
  const bool one_is_both = std::ranges::find_first_of(ours, theirs) != ours.end();
  if (ours.empty() || theirs.empty() || one_is_both) return;
  findings.push_back({"gid_types_of_ends", Weight::problem,
                      fmt::format("no type of GID is at both ends: {} here has {}, {} there {}",
                                  text_of(here, "name"), fmt::join(ours, ", "),
                                  text_of(peer, "name"), fmt::join(theirs, ", ")),
                      "give both netdevs an IP address of one subnet, and both drivers RoCE v2 "
                      "(cma_roce_mode)"});
}

/// What an examination says of the device that a port ("mlx5_0/1") is of; null: nothing.
Json device_of(const Json& end, const Port& port) {
  const std::string name = text_of(port, "name");
  for (const auto& device : end.at("versions").at("devices"))
    if (device.at("name") == name.substr(0, name.rfind('/'))) return device;
  return nullptr;
}

/// "firmware 22.35 here, 22.36 there", if both ends know it and it is different.
void add_difference(std::string& differences, std::string_view what, const Json& here,
                    const Json& peer, const char* key) {
  if (differ(here, peer, key))
    add_item(differences,
             fmt::format("{} {} here, {} there", what, text_of(here, key), text_of(peer, key)),
             "; ");
}

/// Firmware and driver of two makers' devices are not comparable.
void compare_versions(const Json& here, const Json& peer, std::vector<Finding>& findings) {
  std::string differences;
  add_difference(differences, "libibverbs", here.at("versions"), peer.at("versions"), "libibverbs");
  const auto ours = device_of(here, here.at("ports").at(0)),
             theirs = device_of(peer, peer.at("ports").at(0));
  if (fact_at(ours, "driver") == fact_at(theirs, "driver")) {
    add_difference(differences, "driver", ours, theirs, "driver_version");
    add_difference(differences, "firmware", ours, theirs, "firmware");
  }
  if (differences.empty()) return;
  findings.push_back({"versions_of_ends", Weight::warning,
                      "the two ends may behave differently, since versions differ: " + differences,
                      "install the same release of rdma-core, driver and firmware at both ends"});
}

}  // namespace

std::vector<Finding> compare_ends(const Json& here, const Json& peer) {
  if (here.at("ports").empty() || peer.at("ports").empty()) return {};
  const Port &ours = here.at("ports").at(0), &theirs = peer.at("ports").at(0);
  std::vector<Finding> findings;
  compare_fact(ours, theirs, "link_layer",
               {"link_layer_of_ends", Weight::problem, "the ports cannot reach each other: ",
                "choose ports of one network with --device and --peer-device"},
               findings);
  if (!findings.empty()) return findings;  // the rest follows from it
  compare_gid_types(ours, theirs, findings);
  compare_fact(ours, theirs, "netdev_mtu",
               {"mtu_of_ends", Weight::warning,
                "the MTUs of the netdevs differ, and packets are as small as the lesser one "
                "allows: ",
                "ip link set NETDEV mtu N, the same at both ends and at each switch"},
               findings);
  // "100 Gb/sec (4X EDR)" is as fast as "100 Gb/sec (2X HDR)".
  const auto gbps = [](const auto& port) {
    return std::strtod(text_of(port, "rate").c_str(), nullptr);
  };
  if (gbps(ours) != gbps(theirs))
    compare_fact(ours, theirs, "rate",
                 {"rate_of_ends", Weight::warning,
                  "the links differ, and the slower one limits the bandwidth: ",
                  "choose like ports with --device and --peer-device, or compare with the slower "
                  "link"},
                 findings);
  compare_versions(here, peer, findings);
  return findings;
}

}  // namespace rdmameter
