// SPDX-License-Identifier: Apache-2.0
#include "topologies/collectives/collective.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

#include "core/base/lists.h"

namespace rdmameter {
namespace {

/// When the last message of all has arrived, in units of a cost for each message.
/// @param cost  of a message of so many words
std::uint64_t last_arrival(const std::vector<RankSchedule>& schedules,
                           std::uint64_t (*cost)(std::uint64_t words)) {
  struct Progress {
    std::uint64_t at = 0;
    std::size_t step = 0;
    bool sent = false;  ///< the step's message
  };
  std::vector<Progress> all(schedules.size());
  std::map<std::pair<Rank, Rank>, std::deque<std::uint64_t>> arrivals;
  /// @return  is a step over?
  const auto advance = [&](Rank rank) {
    auto& [at, number, sent] = all[rank];
    if (number == schedules[rank].steps.size()) return false;
    const CollectiveStep& step = schedules[rank].steps[number];
    std::uint64_t end = at;
    if (step.send) {
      end += cost(words_in(step.send->words));
      if (!sent) arrivals[{rank, step.send->to}].push_back(end);
      sent = true;
    }
    if (step.receive) {
      auto& queue = arrivals[{step.receive->from, rank}];
      if (queue.empty()) return false;
      end = std::max(end, queue.front());
      queue.pop_front();
    }
    all[rank] = {.at = end, .step = number + 1};
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (Rank rank = 0; rank < schedules.size(); ++rank)
      while (advance(rank)) moved = true;
  }
  return std::ranges::max(all, {}, &Progress::at).at;
}

}  // namespace

std::uint64_t words_in(const std::vector<WordRange>& ranges) {
  std::uint64_t words = 0;
  for (const WordRange& range : ranges) words += range.count;
  return words;
}

std::uint64_t words_of_size(CollectiveKind kind, Rank ranks, std::uint64_t size_bytes) {
  return kind == CollectiveKind::barrier ? 1 : size_bytes / least_size(kind, ranks);
}

std::uint64_t least_size(CollectiveKind kind, Rank ranks) {
  const bool has_blocks = kind == CollectiveKind::alltoall || kind == CollectiveKind::allgather;
  return kWordBytes * (has_blocks ? ranks : 1);  // a block for each rank
}

std::uint64_t bytes_of_words(CollectiveKind kind, Rank ranks, std::uint64_t words) {
  return kind == CollectiveKind::barrier ? 0 : words * least_size(kind, ranks);
}

double bus_factor(CollectiveKind kind, Rank ranks) {
  const double others = real(ranks - 1) / real(ranks);
  switch (kind) {
    case CollectiveKind::allreduce:
      return 2 * others;
    case CollectiveKind::alltoall:
    case CollectiveKind::allgather:
      return others;
    case CollectiveKind::broadcast:
    case CollectiveKind::barrier:
      break;
  }
  return 1;
}

std::vector<std::uint32_t> expected_result(const Collective& collective, Rank rank, Rank ranks,
                                           std::uint64_t words, const InputWord& input) {
  std::vector<std::uint32_t> expected;
  const auto add_words = [&](Rank of, std::uint64_t begin) {
    for (std::uint64_t at = 0; at < words; ++at) expected.push_back(input(of, begin + at));
  };
  switch (collective.kind) {
    case CollectiveKind::allreduce:
      expected.resize(words);
      for (Rank other = 0; other < ranks; ++other)
        for (std::uint64_t at = 0; at < words; ++at) expected[at] += input(other, at);
      break;
    case CollectiveKind::alltoall:
      for (Rank other = 0; other < ranks; ++other) add_words(other, rank * words);
      break;
    case CollectiveKind::allgather:
      for (Rank other = 0; other < ranks; ++other) add_words(other, 0);
      break;
    case CollectiveKind::broadcast:
      add_words(0, 0);
      break;
    case CollectiveKind::barrier:  // a word from each rank that is waited for
      for (Rank ahead = 1; ahead < ranks; ahead *= 2) add_words((rank + ranks - ahead) % ranks, 0);
      break;
  }
  return expected;
}

CollectiveTotals collective_totals(const Collective& collective, Rank ranks, std::uint64_t words) {
  CollectiveTotals totals;
  std::vector<RankSchedule> schedules;
  for (Rank rank = 0; rank < ranks; ++rank) {
    schedules.push_back(collective.make(rank, ranks, words));
    std::map<Rank, std::uint64_t> messages_to;
    for (const CollectiveStep& step : schedules.back().steps) {
      if (!step.send) continue;
      const std::uint64_t sent = words_in(step.send->words);
      ++messages_to[step.send->to];
      ++totals.messages;
      totals.words += sent;
      totals.largest_words = std::max(totals.largest_words, sent);
    }
    for (const auto& [to, messages] : messages_to) totals.flows.push_back({rank, to, messages});
  }
  totals.steps = last_arrival(schedules, [](std::uint64_t) -> std::uint64_t { return 1; });
  totals.step_words = last_arrival(schedules, [](std::uint64_t each) { return each; });
  return totals;
}

std::vector<Rank> collective_receivers(const Collective& collective, Rank rank, Rank ranks) {
  if (collective.receivers != nullptr) return collective.receivers(rank, ranks);
  std::vector<Rank> receivers;
  for (const CollectiveStep& step : collective.make(rank, ranks, 1).steps)
    if (step.send) add_once(receivers, step.send->to);
  return receivers;
}

RankSchedule begin_alltoall(Rank rank, Rank ranks, std::uint64_t words) {
  const std::uint64_t all = ranks * words;
  return {.memory_words = 2 * all,
          .input = {0, all},
          .result = {all, all},
          .moves = {{rank * words, all + rank * words, words}}};
}

void add_step(RankSchedule& schedule, SentWords sent, ReceivedWords received) {
  CollectiveStep step;
  if (words_in(sent.words) > 0) step.send = std::move(sent);
  if (words_in(received.words) > 0) step.receive = std::move(received);
  if (step.send || step.receive) schedule.steps.push_back(std::move(step));
}

// The list of collectives.

// Each in its own file.
extern const Collective kAllreduceRing, kAllreduceRd, kAlltoallPairwise, kAlltoallBruck,
    kAllgatherRing, kBroadcastBinomial, kBarrierDissemination;

namespace {

constexpr std::array kCollectives{&kAllreduceRing,       &kAllreduceRd,   &kAlltoallPairwise,
                                  &kAlltoallBruck,       &kAllgatherRing, &kBroadcastBinomial,
                                  &kBarrierDissemination};

}  // namespace

std::span<const Collective* const> collectives() {
  return kCollectives;
}

}  // namespace rdmameter
