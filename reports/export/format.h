// SPDX-License-Identifier: Apache-2.0
// Which formats of other tools a result can be written in. A new one is a small file and a row of
// the table in format.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/instrument/histogram_data.h"
#include "core/result/result_file.h"

namespace rdmameter {

struct ExportFormat {
  std::string_view name;     ///< of --format
  std::string_view summary;  ///< for --help
  bool several;              ///< does it take several results?
  /// The whole text of the exported file.
  /// @param files    at least one; one alone unless `several`
  /// @throws UsageError  the format cannot say what the files hold, and what to do
  std::string (*write)(std::span<const ResultFile> files);
};

std::span<const ExportFormat> export_formats();

/// @throws UsageError  naming the formats there are
const ExportFormat& export_format(std::string_view name);

/// `format.write(files)`, once the number of files is one that the format takes.
/// @throws UsageError
std::string export_results(const ExportFormat& format, std::span<const ResultFile> files);

// ---- The writers of export/, one for each format; see ExportFormat::write.

std::string to_openmetrics(std::span<const ResultFile> files);
/// Both formats of github-action-benchmark, each of one file.
std::string to_github(const ResultFile& file, bool smaller_is_better);
std::string to_bmf(std::span<const ResultFile> files);
std::string to_otava(std::span<const ResultFile> files);
std::string to_hgrm(std::span<const ResultFile> files);
std::string to_hdr_log(std::span<const ResultFile> files);

// ---- Rows for spreadsheets and scripts: `show --csv`.

/// A head and one line for each row of the files, in their order. Columns stay as they are: new
/// ones are added at the end. Quoted as RFC 4180 says, but lines end in a mere '\n', as
/// Unix tools expect.
std::string to_csv(const std::vector<ResultFile>& files);

/// A table for pandas, R and the like: a line for each row, a column for each axis that any case
/// has. Latencies are those that the terminal shows, half round trips for a test whose figures are
/// these; the column `latency` says what they are. Which columns there are depends on the tests:
/// read them by name.
std::string to_tidy_csv(const std::vector<ResultFile>& files);

// ---- A histogram in HdrHistogram's own words. Ours has the counts array of an HdrHistogram of 3
// significant digits from 1 ns on, so nothing is lost.

/// V2 encoding, deflated, in base64: "HISTFAAA...". Samples beyond the histogram's range, of which
/// only the largest is known, stand in that one's bucket.
std::string hdr_base64(const HistogramData& data);

/// The percentiles that HdrHistogram's outputPercentileDistribution() prints, with its five steps
/// to each halving of what lies beyond.
/// @param unit_ns  values are printed in multiples of this [ns]
/// @param unit     what a last line, a comment, says of the values: "µs, half round trip"
std::string hdr_percentiles(const HistogramData& data, double unit_ns, std::string_view unit);

}  // namespace rdmameter
