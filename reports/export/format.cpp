// SPDX-License-Identifier: Apache-2.0
#include "reports/export/format.h"

#include <array>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "reports/text/text.h"

namespace rdmameter {

std::span<const ExportFormat> export_formats() {
  static constexpr std::array kFormats = {
      ExportFormat{"openmetrics", "OpenMetrics text, also for Prometheus' textfile collector",
                   false, to_openmetrics},
      ExportFormat{"github-smaller", "github-action-benchmark's customSmallerIsBetter: latencies",
                   false, [](auto files) { return to_github(files.front(), true); }},
      ExportFormat{"github-bigger", "github-action-benchmark's customBiggerIsBetter: rates", false,
                   [](auto files) { return to_github(files.front(), false); }},
      ExportFormat{"bmf", "Bencher Metric Format (JSON)", false, to_bmf},
      ExportFormat{"otava", "CSV for Apache Otava: a line for each FILE", true, to_otava},
      ExportFormat{"hgrm", "HdrHistogram's percentile table, of one case", false, to_hgrm},
      ExportFormat{"hdr-log", "HdrHistogram log (V2), a line for each repetition", false,
                   to_hdr_log},
  };
  return kFormats;
}

const ExportFormat& export_format(std::string_view name) {
  std::string known;
  for (const ExportFormat& format : export_formats()) {
    if (format.name == name) return format;
    add_item(known, format.name);
  }
  if (name.empty()) throw UsageError("export: say what to write: --format is one of " + known);
  throw invalid_value("--format", name, known);
}

std::string export_results(const ExportFormat& format, std::span<const ResultFile> files) {
  if (files.size() > 1 && !format.several)
    throw UsageError("--format {} describes one result, and {} are named. Export each by itself.",
                     format.name, files.size());
  return format.write(files);
}

}  // namespace rdmameter
