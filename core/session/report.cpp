// SPDX-License-Identifier: Apache-2.0
#include "core/session/report.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace rdmameter {
namespace {

void require(bool there, std::string_view key) {
  if (!there) throw MeasurementError("the peer's message: the key \"{}\" is missing", key);
}

}  // namespace

std::uint64_t Report::total() const {
  return std::accumulate(totals.begin(), totals.end(), std::uint64_t{0});
}

void complete(const Report& report, const CheckedJson& json) {
  constexpr std::size_t kMaxCounters = 4096, kMaxNameBytes = 64;
  const auto plain = [](const std::string& name) {
    return name.size() <= kMaxNameBytes &&
           std::ranges::all_of(name, [](char c) { return is_word_character(c, "_-."); });
  };
  if (!report.counters) return;
  bool good = report.counters->size() <= kMaxCounters;
  for (const auto& [name, value] : report.counters->items())
    good = good && plain(name) && value.is_number_unsigned();
  if (!good) json.at("counters").fail("are not counts by name");
}

Json gaps_to_json(const std::vector<WatchData::Gap>& gaps) {
  auto json = Json::array();
  for (const WatchData::Gap& gap : gaps)
    for (const std::uint64_t number :
         {gap.message, std::min(gap.length_ns, kMaxMessages),
          std::uint64_t{(gap.found ? 2U : 0U) + (gap.first ? 1U : 0U)}})
      json.push_back(number);
  return json;
}

std::vector<WatchData::Gap> gaps_from_json(const CheckedJson& json) {
  const std::size_t numbers = json.array_size_within(0, 3 * kMaxPollGaps);
  if (numbers % 3 != 0) json.fail("are not three numbers for each gap");
  std::vector<WatchData::Gap> gaps;
  for (std::size_t i = 0; i < numbers; i += 3) {
    const std::uint64_t flags = json.count_at(i + 2, 0, 3);
    gaps.push_back({.message = json.count_at(i, 0, kMaxMessages),
                    .length_ns = json.count_at(i + 1, 0, kMaxMessages),
                    .found = (flags & 2) != 0,
                    .first = (flags & 1) != 0});
  }
  return gaps;
}

namespace {

Report counts_of(const SideTally& tally, Totals totals, const TestCase& test_case) {
  Report report{.operations = tally.operations,
                .elapsed_ns = tally.elapsed_ns,
                .traffic_ns = tally.traffic_ns,
                .totals = std::move(totals)};
  if (numbers_read(test_case) == NumberPlace::none) return report;
  report.duplicated = tally.duplicated;
  report.reordered = tally.reordered;
  return report;
}

}  // namespace

Report report_of(const Side& side, const TestCase& test_case) {
  Report report = counts_of(SideTally{side}, side.totals(), test_case);
  report.peak = side.first().peak();
  if (test_case.peers > 1) report.arrivals = side.first().arrivals();
  if (side.devices == 1) return report;
  const auto each = static_cast<std::ptrdiff_t>(test_case.threads);
  for (std::size_t i = 0; i < side.devices; ++i) {
    const auto first = report.totals.begin() + static_cast<std::ptrdiff_t>(i) * each;
    report.devices.push_back(
        counts_of(SideTally{side.of_device(i)}, Totals(first, first + each), test_case));
  }
  return report;
}

Report report_for_peer(const Side& side, const TestCase& test_case, const Totals& sent) {
  Report report = report_of(side, test_case);
  const Json facts = side.facts();
  if (auto counters = side.counters(); !counters.is_null()) report.counters = std::move(counters);
  if (test_case.seen_in_memory()) report.data_in_order = facts.value("data_in_order", false);
  if (is_gpu(test_case.responder.memory)) {
    report.gpu_registration = facts.at("gpu_registration").get<std::string>();
    report.gpu_pcie_path = facts.at("gpu_pcie_path").get<std::string>();
  }
  if (const WatchData* const watched = side.first().watched(); watched != nullptr)
    report.watched = {.gap_limit_ns = watched->gap_limit_ns, .gaps = watched->gaps};
  if (!test_case.verify) return report;
  // A mix's responder has answered its sends alone.
  const bool counts = SideTally{side}.has_loop && !test_case.mixed();
  report.verdict = side.verify(counts ? side.totals() : sent);
  return report;
}

void keep_what_the_case_has(Report& report, const TestCase& test_case, bool whole) {
  require_totals_of(report.totals, test_case.devices() * test_case.threads);
  require(test_case.devices() == 1 || report.devices.size() == test_case.devices(), "devices");
  if (test_case.devices() == 1) report.devices.clear();
  for (std::size_t i = 0; i < report.devices.size(); ++i)
    keep_what_the_case_has(report.devices[i], of_device(test_case, i), false);
  const bool numbered = numbers_read(test_case) != NumberPlace::none;
  require(!numbered || report.duplicated, "duplicated");
  require(!numbered || report.reordered, "reordered");
  if (!numbered) report.duplicated.reset(), report.reordered.reset();
  if (!test_case.peak) report.peak.reset();
  if (report.peak && (report.peak->messages > kMaxMessages / test_case.size_bytes ||
                      report.peak->bytes != report.peak->messages * test_case.size_bytes))
    throw MeasurementError("the peer's message: peak: bytes are not those of its messages");
  if (report.peak && report.peak->window_ns > kMaxTime_ns)
    throw MeasurementError("the peer's message: peak: window_ns is beyond {}", kMaxTime_ns);
  const bool gpu = whole && is_gpu(test_case.responder.memory);
  require(!gpu || report.gpu_registration, "gpu_registration");
  require(!gpu || report.gpu_pcie_path, "gpu_pcie_path");
  if (!gpu) report.gpu_registration.reset(), report.gpu_pcie_path.reset();
  if (test_case.peers == 1) report.arrivals.clear();
  if (!test_case.watched() || !test_case.answered()) report.watched = {};
  if (!test_case.verify || !whole) report.verdict.reset();
}

void require_totals_of(const Totals& totals, std::uint64_t threads) {
  if (totals.size() != threads)
    throw MeasurementError("the peer's message: the totals are not of {} threads", threads);
}

}  // namespace rdmameter
