// SPDX-License-Identifier: Apache-2.0
#include "core/engine/account/load.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"

namespace rdmameter {
namespace {

std::uint64_t gap_count(const TestCase& test_case) {
  const std::uint64_t wanted =
      test_case.duration_ns == 0
          ? std::min(test_case.iterations, kMaxGaps) + std::min(test_case.warmup, kMaxGaps)
          : kMaxGaps;
  const std::uint64_t burst = test_case.burst();
  const std::uint64_t bursts = std::max<std::uint64_t>(std::min(wanted, kMaxGaps) / burst, 1);
  return bursts * burst;
}

/// @param sum  empty, or of the same mix
void add_parts(std::vector<LoadPart>& sum, const std::vector<LoadPart>& more) {
  if (sum.empty()) {
    sum = more;
    return;
  }
  for (std::size_t i = 0; i < more.size(); ++i) {
    sum[i].due += more[i].due;
    sum[i].completed += more[i].completed;
    sum[i].offered_per_s += more[i].offered_per_s;
    sum[i].reached_per_s += more[i].reached_per_s;
    merge(sum[i].response.histogram, more[i].response.histogram);
    merge(sum[i].service.histogram, more[i].service.histogram);
    merge(sum[i].lateness.histogram, more[i].lateness.histogram);
  }
}

/// @param sum  its intervals are a multiple of those of `more`, the doubled ones of a series
void add_backlog(LoadData& sum, const LoadData& more) {
  const std::uint64_t joined =
      more.interval_ns == 0 ? 1 : (sum.interval_ns + more.interval_ns / 2) / more.interval_ns;
  std::vector<std::uint64_t> most;
  for (std::size_t i = 0; i < more.backlog.size(); ++i) {
    if (i % joined == 0) most.push_back(0);
    most.back() = std::max(most.back(), more.backlog[i]);
  }
  sum.backlog.resize(std::max(sum.backlog.size(), most.size()));
  for (std::size_t i = 0; i < most.size(); ++i) sum.backlog[i] += most[i];
}

}  // namespace

std::uint64_t early_ns(const TestCase& test_case) {
  if (test_case.arrivals == ArrivalPattern::poisson) return 0;
  const std::uint64_t threads = test_case.threads * test_case.devices();
  const std::uint64_t later = threads - 1 - test_case.path.first_qp / test_case.qps;
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(later * test_case.burst()) *
                                                 1e9 / messages_per_s(test_case)));
}

std::vector<std::uint64_t> draw_gaps_ns(const TestCase& test_case, std::uint64_t seed) {
  const auto threads = static_cast<double>(test_case.threads * test_case.devices());
  const double mean_ns = threads * 1e9 / messages_per_s(test_case);
  const std::uint64_t burst = test_case.burst();
  const double period_ns = mean_ns * static_cast<double>(burst);
  // The same numbers everywhere, as those of std::exponential_distribution are not.
  std::mt19937_64 random_bits{seed};
  // Exponentially distributed, with a mean of 1: a Poisson process has such gaps.
  const auto draw = [&] {
    return -std::log1p(-static_cast<double>(random_bits() >> 11) * 0x1p-53);
  };
  std::vector<std::uint64_t> gaps(gap_count(test_case));
  const bool random = test_case.arrivals == ArrivalPattern::poisson;
  double due_ns = 0;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (random)
      due_ns += mean_ns * draw();
    else if (i % burst == 0)
      due_ns += period_ns;
    const auto rounded = static_cast<std::uint64_t>(std::llround(due_ns));
    gaps[i] = rounded - before;
    before = rounded;
  }
  return gaps;
}

std::vector<std::uint8_t> draw_parts(const TestCase& test_case, std::uint64_t seed) {
  constexpr std::uint64_t kOtherStream = 0x9e3779b97f4a7c15;
  std::vector<std::uint64_t> below;  // of each part: the weights up to its own
  for (const MixPart& part : mix_of(test_case))
    below.push_back((below.empty() ? 0 : below.back()) + part.weight);
  std::mt19937_64 random{seed ^ kOtherStream};
  std::vector<std::uint8_t> drawn(gap_count(test_case));
  for (std::uint8_t& part : drawn) {
    __extension__ using uint128 = unsigned __int128;
    const auto point = static_cast<std::uint64_t>((uint128{random()} * below.back()) >> 64);
    part = static_cast<std::uint8_t>(std::ranges::upper_bound(below, point) - below.begin());
  }
  return drawn;
}

std::vector<std::uint64_t> count_parts(std::span<const std::uint8_t> drawn, std::size_t parts,
                                       std::uint64_t first, std::uint64_t count) {
  std::vector<std::uint64_t> counts(parts);
  // The draws come again from the first on: those of whole turns are the same in each.
  for (const std::uint8_t part : drawn) counts[part] += count / drawn.size();
  for (std::uint64_t i = 0; i < count % drawn.size(); ++i)
    ++counts[drawn[(first % drawn.size() + i) % drawn.size()]];
  return counts;
}

LoadData sum_of_loads(std::span<const LoadData> loads) {
  LoadData sum;
  double offered_per_ns = 0, reached_per_ns = 0;
  for (const LoadData& each : loads) {
    sum.due += each.due;
    sum.completed += each.completed;
    sum.unsent += each.unsent;
    sum.backlog_max += each.backlog_max;
    sum.interval_ns = std::max(sum.interval_ns, each.interval_ns);
    merge(sum.service.histogram, each.service.histogram);
    merge(sum.lateness.histogram, each.lateness.histogram);
    add_parts(sum.mix, each.mix);
    offered_per_ns += per_ns(each.due, each.window_ns);
    reached_per_ns += per_ns(each.completed, each.completing_ns);
  }
  sum.window_ns = window_of(sum.due, offered_per_ns);
  sum.completing_ns = window_of(sum.completed, reached_per_ns);
  for (const LoadData& each : loads) add_backlog(sum, each);
  return sum;
}

std::uint64_t load_bytes(const TestCase& test_case) {
  const std::size_t parts = test_case.mixed() ? mix_of(test_case).size() : 0;
  const std::size_t each = sizeof(std::uint64_t) + (parts == 0 ? 0 : sizeof(std::uint8_t));
  return sizeof(OpenLoop) + each * gap_count(test_case) + parts * sizeof(PartSamples);
}

OpenLoopSchedule::OpenLoopSchedule(const TestCase& test_case, std::uint64_t seed)
    : warmup_(test_case.warmup),
      gaps_ns_(draw_gaps_ns(test_case, seed)),
      loop_(std::make_unique<OpenLoop>()) {
  loop_->gaps_ns = gaps_ns_.data();
  loop_->gap_count = gaps_ns_.size();
  loop_->early_ns = early_ns(test_case);
  loop_->interval_ns = test_case.interval();
  if (!test_case.mixed()) return;
  mix_ = mix_of(test_case);
  drawn_ = draw_parts(test_case, seed);
  samples_ = std::make_unique<PartSamples[]>(mix_.size());
  loop_->mix.drawn = drawn_.data();
  loop_->mix.part_count = static_cast<std::uint32_t>(mix_.size());
  loop_->mix.samples = samples_.get();
}

/// The loop keeps no count of what fell due: the draws say it.
std::vector<LoadPart> OpenLoopSchedule::parts_of_load() const {
  std::vector<LoadPart> parts(mix_.size());
  if (parts.empty()) return parts;
  const std::vector<std::uint64_t> due = count_parts(drawn_, mix_.size(), warmup_, loop_->due);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    LoadPart& part = parts[p];
    part.due = due[p];
    part.operation = traits(mix_[p].opcode).name;
    part.size_bytes = mix_[p].size_bytes;
    part.weight = mix_[p].weight;
    part.response.histogram = snapshot(samples_[p].response);
    part.service.histogram = snapshot(samples_[p].service);
    part.lateness.histogram = snapshot(samples_[p].lateness);
    part.completed = part.service.histogram.count;
    part.offered_per_s = 1e9 * per_ns(part.due, loop_->window_ns);
    part.reached_per_s = 1e9 * per_ns(part.completed, loop_->completing_ns);
  }
  return parts;
}

LoadData OpenLoopSchedule::result() const {
  LoadData data;
  data.due = loop_->due;
  data.window_ns = loop_->window_ns;
  data.completed = loop_->completed;
  data.completing_ns = loop_->completing_ns;
  data.unsent = loop_->unsent;
  data.backlog_max = loop_->backlog_max;
  data.interval_ns = loop_->series_ns;
  const auto begin = loop_->backlog.most.begin();
  data.backlog.assign(begin, begin + static_cast<std::ptrdiff_t>(loop_->backlog.count));
  data.service.histogram = snapshot(loop_->service);
  data.lateness.histogram = snapshot(loop_->lateness);
  data.mix = parts_of_load();
  return data;
}

}  // namespace rdmameter
