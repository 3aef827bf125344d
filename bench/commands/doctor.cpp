// SPDX-License-Identifier: Apache-2.0
// rdmameter doctor: what on this machine, and on a peer, spoils a measurement.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "bench/doctor/examination_text.h"
#include "bench/options/command.h"
#include "bench/options/token.h"
#include "bench/running/measurers.h"
#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/log/print.h"
#include "core/result/json_text.h"
#include "core/session/initiator.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

struct DoctorOptions {
  std::string host, token_file;
  std::uint16_t port = kDefaultPort;
  bool json = false, strict = false;
};

/// What was found at this end, at the other one, and between them.
struct Diagnosis {
  Json here;
  Json peer, between;       ///< null: no peer was named, or it cannot be asked
  std::string why_no_peer;  ///< it cannot be asked
};

Diagnosis diagnose(const DoctorOptions& options, const InterruptSource& interrupt) {
  SessionOptions server;
  if (!options.host.empty())
    server = {.server = parse_address(options.host, options.port),
              .token = read_token(options.token_file)};
  Diagnosis diagnosis{.here = examination_json(examine({}, try_devices()))};
  if (options.host.empty()) return diagnosis;
  try {
    diagnosis.peer = examine_peer(server, interrupt);
    diagnosis.between = findings_json(compare_ends(diagnosis.here, diagnosis.peer));
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    diagnosis.why_no_peer = error_text(error);
  }
  return diagnosis;
}

void print_json(const Diagnosis& diagnosis) {
  Json all = diagnosis.here;
  if (!diagnosis.peer.is_null()) {
    all["peer"] = diagnosis.peer;
    all["between"] = diagnosis.between;
  } else if (!diagnosis.why_no_peer.empty()) {
    all["peer"] = {{"error", printable(diagnosis.why_no_peer)}};
  }
  print("{}\n", json_text(all, 2));
}

void print_for_people(const Diagnosis& diagnosis, const std::string& host) {
  const std::size_t width = terminal_style().width;
  const bool both = !diagnosis.peer.is_null();
  if (both) print("Here:\n");
  print_text(examination_text(diagnosis.here, width));
  if (!both) return;
  print("\n{}:\n{}", printable(host), examination_text(diagnosis.peer, width));
  if (!diagnosis.between.empty())
    print("\nBetween the two:\n{}", findings_text(diagnosis.between, width));
}

/// A warning is no failure, unless it is asked to be one.
ExitStatus status_of_findings(const Diagnosis& diagnosis, bool strict) {
  const auto is_bad = [strict](const Json& finding) {
    return strict || finding.at("weight") == weight_name(Weight::problem);
  };
  bool bad = std::ranges::any_of(diagnosis.here.at("findings"), is_bad);
  if (!diagnosis.peer.is_null())
    bad = bad || std::ranges::any_of(diagnosis.peer.at("findings"), is_bad) ||
          std::ranges::any_of(diagnosis.between, is_bad);
  return bad ? ExitStatus::regression : ExitStatus::pass;
}

ExitStatus run_doctor(const DoctorOptions& options, const InterruptSource& interrupt) {
  const Diagnosis diagnosis = diagnose(options, interrupt);
  if (options.json)
    print_json(diagnosis);
  else
    print_for_people(diagnosis, options.host);
  if (!diagnosis.why_no_peer.empty())
    throw MeasurementError("the peer cannot be asked, so only this machine was examined: {}",
                           diagnosis.why_no_peer);
  return status_of_findings(diagnosis, options.strict);
}

}  // namespace

Action declare_doctor(CLI::App& app) {
  const auto options = std::make_shared<DoctorOptions>();
  add_option(app, "HOST", options->host, "",
             "HOST or HOST:PORT, where `rdmameter serve` runs: that machine is examined, too");
  add_flag(app, "--json", options->json, "print JSON");
  add_flag(app, "--strict", options->strict, "warnings fail, too");
  add_count(app, "--port", options->port,
            fmt::format("TCP port of HOST. Default: {}", kDefaultPort), 1, UINT16_MAX);
  add_option(app, "--token-file", options->token_file, "FILE", kTokenFileHelp);
  app.footer(
      "Exit status: 0 nothing or warnings, 1 a problem (--strict: or a warning),\n"
      "99 the peer cannot be asked.\n\n"
      "Examples:\n"
      "  rdmameter doctor\n"
      "  rdmameter doctor 192.0.2.1\n"
      "  rdmameter doctor --strict --json");
  return [options](const Invocation& invocation) {
    return run_doctor(*options, invocation.interrupt);
  };
}

}  // namespace rdmameter
