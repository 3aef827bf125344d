// SPDX-License-Identifier: Apache-2.0
#include "bench/running/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "core/base/printable.h"
#include "core/log/print.h"
#include "reports/summary/metric.h"
#include "reports/text/text.h"

namespace rdmameter {

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  const std::uint64_t minutes = whole / 60 % 60;
  if (whole < 3600) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, minutes, whole % 60);
}

std::string status_line(std::uint64_t done, std::uint64_t all, double elapsed_s,
                        std::string_view name, std::size_t width) {
  std::string line = fmt::format("{}/{}  {} elapsed", done + 1, all, clock_text(elapsed_s));
  if (done > 0)
    line += fmt::format(", {} left", clock_text(elapsed_s / static_cast<double>(done) *
                                                static_cast<double>(all - done)));
  line += "  " + printable(name);
  return std::string(beginning(line, width > 0 ? width - 1 : 0));
}

bool stderr_is_interactive() {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || *terminal == '\0' || std::strcmp(terminal, "dumb") == 0;
  return isatty(STDERR_FILENO) == 1 && !dumb && std::getenv("CI") == nullptr;
}

namespace {

/// "20000/s: reached 19987/s, p50 12.3 µs, p99 45.6 µs"
std::string sweep_line(const SweepPoint& point) {
  std::string text = fmt::format("{}/s: reached {:.0f}/s", point.rate_per_s, point.reached_per_s);
  if (point.saturated) return text + " (saturated)";
  if (point.p50_ns) text += fmt::format(", p50 {}", metric_text(Metric::p50, *point.p50_ns));
  if (point.p99_ns) text += fmt::format(", p99 {}", metric_text(Metric::p99, *point.p99_ns));
  return text;
}

/// ";  half RTT p50 12.3 µs, p99 20.1 µs, max 105.0 ms, 3 lost", as the line of the case has them;
/// empty: there is nothing to tell.
std::string latency_text(const std::optional<IntervalLatency>& latency, bool half) {
  if (!latency) return "";
  std::string text;
  for (const auto& [name, ns] :
       {std::pair("p50", latency->p50), {"p99", latency->p99}, {"max", latency->max}})
    if (ns)
      add_item(text,
               fmt::format("{}{} {}", half && text.empty() ? "half RTT " : "", name,
                           metric_text(Metric::p50, static_cast<double>(*ns) / (half ? 2 : 1))));
  if (latency->lost > 0) add_item(text, fmt::format("{} lost", latency->lost));
  return text.empty() ? text : ";  " + text;
}

}  // namespace

std::string interval_line(const TestCase& test_case, const ProgressInterval& interval) {
  const auto operations = static_cast<double>(interval.operations);
  const std::string text = fmt::format("{:.1f} s  ", interval.end_s);
  if (interval.operations == 0) return text + "nothing";
  const double per_s = operations / interval.length_s;
  if (test_case.pattern == Pattern::bandwidth)
    return text + metric_text(Metric::mmsg_per_s, per_s * 1e-6) + "  " +
           metric_text(Metric::gbps, per_s * static_cast<double>(test_case.size_bytes) * 8e-9) +
           (test_case.bidirectional ? "  (sent by this end)" : "");
  const bool half = test_case.pattern == Pattern::ping_pong;
  return text +
         fmt::format("{} {}, one in {}", interval.operations, half ? "round trips" : "operations",
                     metric_text(Metric::mean, 1e9 / per_s)) +
         latency_text(interval.latency, half);
}

SweepListener sweep_printer() {
  if (!stderr_is_interactive()) return {};
  return [](const SweepPoint& point) {
    if (stderr_takes_text()) tell("\r\033[K{}", for_stderr(sweep_line(point) + "\n"));
  };
}

IntervalListener interval_printer() {
  const bool at_terminal = stderr_is_interactive();
  const std::string_view before = at_terminal ? "\r\033[K" : "";  // clears the status line
  return {.hear =
              [before](const TestCase& test_case, const ProgressInterval& interval) {
                if (stderr_takes_text())  // a case does not wait for its reader
                  tell("{}{}", before, for_stderr(interval_line(test_case, interval) + "\n"));
              },
          .bounded_too = at_terminal};
}

ChoiceListener choice_printer() {
  struct Said {
    std::mutex mutex;
    std::set<std::string> lines;
  };
  return [said = std::make_shared<Said>()](const std::string& line) {
    const std::lock_guard lock{said->mutex};  // a background's measurer has a thread of its own
    if (said->lines.insert(line).second) tell("{}", for_stderr(line + "\n"));
  };
}

}  // namespace rdmameter
