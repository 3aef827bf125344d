// SPDX-License-Identifier: Apache-2.0
// The V2 encoding follows HdrHistogram's AbstractHistogram.java (encodeIntoByteBuffer,
// fillBufferFromCountsArray), the table its outputPercentileDistribution() and PercentileIterator.
#include <fmt/core.h>
#include <sodium.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "reports/export/format.h"
#include "reports/summary/facts.h"
#include "reports/summary/summary.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t kCookie = 0x1c849303 | 0x10;            ///< V2; words up to 8 bytes
constexpr std::uint32_t kCompressedCookie = 0x1c849304 | 0x10;  ///< V2, deflated
constexpr std::uint32_t kSignificantDigits = 3;                 ///< 2048 sub-buckets, as ours

/// Every sample in a bucket: those of `overflow` in that of the largest.
Buckets all_buckets(const HistogramData& data) {
  Buckets buckets = data.buckets;
  if (data.overflow > 0)
    buckets.push_back({static_cast<std::uint32_t>(histogram_index(data.max_ns)), data.overflow});
  return buckets;
}

template <class Integer>
void put_big_endian(std::string& bytes, Integer value) {
  for (int shift = 8 * (sizeof(Integer) - 1); shift >= 0; shift -= 8)
    bytes += static_cast<char>(value >> shift);
}

/// ZigZag LEB128-64b9B: seven bits a byte, and all eight of the ninth.
void put_zigzag(std::string& bytes, std::int64_t value) {
  auto rest = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  for (int byte = 0; byte < 8 && rest >> 7 != 0; ++byte, rest >>= 7)
    bytes += static_cast<char>((rest & 0x7F) | 0x80);
  bytes += static_cast<char>(rest);
}

/// Counts by index; a run of zeros is one negative number.
std::string counts_of(const HistogramData& data) {
  std::string bytes;
  std::int64_t next = 0;
  for (const auto& [index, n] : all_buckets(data)) {
    if (index > next) put_zigzag(bytes, next - std::int64_t{index});
    put_zigzag(bytes, static_cast<std::int64_t>(n));
    next = std::int64_t{index} + 1;
  }
  return bytes;
}

std::string encoded(const HistogramData& data) {
  constexpr std::uint64_t kMinValue = 1, kHighestValue = (1ULL << kHistogramMaxBits) - 1;
  const std::string counts = counts_of(data);
  std::string bytes;
  put_big_endian(bytes, kCookie);
  put_big_endian(bytes, static_cast<std::uint32_t>(counts.size()));
  put_big_endian(bytes, std::uint32_t{0});  // normalizing index offset
  put_big_endian(bytes, kSignificantDigits);
  put_big_endian(bytes, kMinValue);
  put_big_endian(bytes, data.overflow > 0 ? data.max_ns : kHighestValue);
  put_big_endian(bytes, std::bit_cast<std::uint64_t>(1.0));  // integer to double ratio
  return bytes + counts;
}

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string text(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(text.data()), &size,
               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) != Z_OK)
    throw std::runtime_error("zlib: compress() failed: out of memory");
  text.resize(size);
  return text;
}

std::string base64(const std::string& bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), kVariant);
  text.pop_back();  // the 0 that ends it
  return text;
}

/// What follows `percent` in steps of a fifth of a halving: 0, 10, 20 ... 50, 55 ... 75, 77.5 ...
double next_percentile(double percent) {
  constexpr double kStepsPerHalving = 5;
  const double halvings = std::floor(std::log2(100 / (100 - percent))) + 1;
  return percent + 100 / (kStepsPerHalving * std::exp2(halvings));
}

constexpr double kNsPerMs = 1e6, kNsPerUs = 1e3;

std::vector<CaseNumbers> latency_cases(const ResultFile& file) {
  std::vector<CaseNumbers> cases = case_numbers(file.rows);
  std::erase_if(cases, [](const auto& found) { return merged_latency(found.summary).count == 0; });
  if (cases.empty()) throw UsageError("{}: no case here has latency samples.", file.path);
  return cases;
}

/// A tag holds no comma, space or line end, which part a line's fields.
std::string tag_of(const std::string& name) {
  std::string tag = printable(name);
  std::ranges::replace_if(
      tag, [](char c) { return c == ',' || c == ' '; }, '_');
  return tag;
}

}  // namespace

std::string hdr_base64(const HistogramData& data) {
  const std::string compressed = deflated(encoded(data));
  std::string bytes;
  put_big_endian(bytes, kCompressedCookie);
  put_big_endian(bytes, static_cast<std::uint32_t>(compressed.size()));
  return base64(bytes + compressed);
}

std::string hdr_percentiles(const HistogramData& data, double unit_ns, std::string_view unit) {
  std::string text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  const auto total = static_cast<double>(data.count);
  double percent = 0, highest = 0;
  std::uint64_t seen = 0;
  for (const auto& [index, n] : all_buckets(data)) {
    seen += n;
    highest = static_cast<double>(histogram_lowest(index + 1) - 1) / unit_ns;
    while (100 * static_cast<double>(seen) / total >= percent) {
      text += fmt::format("{:12.3f} {:2.12f} {:10} {:14.2f}\n", highest, percent / 100, seen,
                          1 / (1 - percent / 100));
      percent = next_percentile(percent);
      if (seen == data.count) break;
    }
  }
  if (data.count > 0) text += fmt::format("{:12.3f} {:2.12f} {:10}\n", highest, 1.0, seen);
  const LatencySummary summary = summarize(data, unit_ns);
  return text + fmt::format(
                    "#[Mean    = {:12.3f}, StdDeviation   = {:12.3f}]\n"
                    "#[Max     = {:12.3f}, Total count    = {:12}]\n"
                    "#[Buckets = {:12}, SubBuckets     = {:12}]\n"
                    "#[Values in {}]\n",
                    summary.mean, summary.stddev, highest, data.count,
                    kHistogramMaxBits - kHistogramPrecisionBits, 2U << kHistogramPrecisionBits,
                    unit);
}

std::string to_hgrm(std::span<const ResultFile> files) {
  const std::vector<CaseNumbers> cases = latency_cases(files.front());
  if (cases.size() > 1) {
    std::string names;
    for (const CaseNumbers& found : cases) names += "\n  " + printable(found.name);
    throw UsageError("--format hgrm is a table of one case; choose with --case NAME among:{}",
                     names);
  }
  const CaseSummary& summary = cases.front().summary;
  const Row& row = **std::ranges::find_if(summary.repetitions,
                                          [](const Row* one) { return one->latency.has_value(); });
  return hdr_percentiles(merged_latency(summary), kNsPerUs * latency_divisor(row),
                         "µs, " + latency_kind(*row.latency));
}

std::string to_hdr_log(std::span<const ResultFile> files) {
  const ResultFile& file = files.front();
  std::string text = "#[Histogram log format version 1.3]\n";
  const std::string date = text_at(file.context, "date");
  if (const auto seconds = epoch_seconds(date))
    text += fmt::format(
        "#[BaseTime: {0}.000 (seconds since epoch)]\n"
        "#[StartTime: {0}.000 (seconds since epoch), {1}]\n",
        *seconds, printable(date));
  text +=
      "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
  double start_s = 0;
  for (const CaseNumbers& found : latency_cases(file))
    for (const Row* row : found.summary.repetitions) {
      if (!row->latency || row->latency->histogram.count == 0) continue;
      const HistogramData& data = row->latency->histogram;
      const double length_s = static_cast<double>(data.sum_ns) / kNsPerSecond;
      text += fmt::format("Tag={},{:.3f},{:.3f},{:.3f},{}\n", tag_of(found.name), start_s, length_s,
                          static_cast<double>(data.max_ns) / kNsPerMs, hdr_base64(data));
      start_s += length_s;
    }
  return text;
}

}  // namespace rdmameter
