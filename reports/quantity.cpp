// SPDX-License-Identifier: Apache-2.0
#include "reports/quantity.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/histogram_data.h"
#include "reports/date.h"
#include "reports/row_json.h"

namespace rdmameter {
namespace {

using Number = std::optional<double>;

template <double LatencySummary::*Part>
Number latency(const Row& row) {
  if (!row.latency || row.latency->histogram.count == 0) return std::nullopt;
  return summarize(row.latency->histogram, latency_divisor(row)).*Part;
}

/// @return nothing where too few samples stand behind it
template <int PerTenThousand>
Number latency_percentile(const Row& row) {
  if (!row.latency) return std::nullopt;
  const auto value = reported_percentile(row.latency->histogram, PerTenThousand / 100.0);
  if (!value) return std::nullopt;
  return static_cast<double>(*value) / latency_divisor(row);
}

template <double (*Rate)(const BandwidthData&)>
Number rate(const Row& row) {
  if (!row.bandwidth || row.bandwidth->window_ns == 0) return std::nullopt;
  return Rate(*row.bandwidth);
}

constexpr std::array kQuantities = {
    Quantity{"p50_ns", "p50", "ns", true, latency_percentile<5000>},
    Quantity{"p90_ns", "p90", "ns", true, latency_percentile<9000>},
    Quantity{"p99_ns", "p99", "ns", true, latency_percentile<9900>},
    Quantity{"p99.9_ns", "p99.9", "ns", true, latency_percentile<9990>},
    Quantity{"p99.99_ns", "p99.99", "ns", true, latency_percentile<9999>},
    Quantity{"mean_ns", "mean", "ns", true, latency<&LatencySummary::mean>},
    Quantity{"gbps", "bandwidth", "Gb/s", false, rate<bandwidth_gbps>},
    Quantity{"mmsg_per_s", "message rate", "Mmsg/s", false, rate<bandwidth_mmsg_per_s>},
};

std::optional<CaseNumber> over_repetitions(const Quantity& quantity, const CaseSummary& summary) {
  const auto median = spread(summary, quantity.value);
  if (!median) return std::nullopt;
  CaseNumber made{&quantity, median->median, median->median, median->median};
  for (const Row* row : summary.repetitions) {
    const double value = *quantity.value(*row);
    made.least = std::min(made.least, value);
    made.greatest = std::max(made.greatest, value);
  }
  return made;
}

}  // namespace

std::span<const Quantity> quantities() {
  return kQuantities;
}

const CaseNumber* CaseNumbers::find(std::string_view key) const {
  const auto found = std::find_if(values.begin(), values.end(), [key](const CaseNumber& value) {
    return value.quantity->key == key;
  });
  return found == values.end() ? nullptr : &*found;
}

std::vector<CaseNumbers> case_numbers(std::span<const Row> rows) {
  std::vector<CaseNumbers> cases;
  std::map<std::string, int> taken;
  for (Group& group : group_rows(rows))
    for (CaseSummary& summary : group.cases) {
      CaseNumbers made{summary.repetitions.front()->name, std::move(summary), {}};
      if (const std::string side = text_at(made.summary.case_object, "side"); !side.empty())
        made.name += " " + side;
      if (const int times = ++taken[made.name]; times > 1) made.name += fmt::format(" ({})", times);
      for (const Quantity& quantity : kQuantities)
        if (const auto value = over_repetitions(quantity, made.summary))
          made.values.push_back(*value);
      cases.push_back(std::move(made));
    }
  return cases;
}

const CaseNumber* primary_number(const CaseNumbers& values) {
  for (const char* key : {"gbps", "p50_ns"})
    if (const CaseNumber* value = values.find(key)) return value;
  return values.values.empty() ? nullptr : &values.values.front();
}

}  // namespace rdmameter
