// SPDX-License-Identifier: Apache-2.0
#include "topologies/collectives/collective.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <utility>

namespace rdmameter {
namespace {

/// Do the ranks have a block each, of what is told as the size?
bool has_blocks(CollectiveKind kind) {
  return kind == CollectiveKind::alltoall || kind == CollectiveKind::allgather;
}

/// When the last message of all has arrived, in units of a cost for each message.
/// @param cost  of a message of so many words
class Clockwork {
 public:
  Clockwork(const std::vector<RankSchedule>& schedules, std::uint64_t (*cost)(std::uint64_t words))
      : schedules_(schedules), cost_(cost), at_(schedules.size()), step_(schedules.size()) {}

  std::uint64_t run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (Rank rank = 0; rank < schedules_.size(); ++rank)
        while (step_[rank] < schedules_[rank].steps.size() && advance(rank)) moved = true;
    }
    return *std::ranges::max_element(at_);
  }

 private:
  /// @return  is the step over?
  bool advance(Rank rank) {
    const CollectiveStep& step = schedules_[rank].steps[step_[rank]];
    std::uint64_t end = at_[rank];
    if (step.send) {
      end += cost_(words_in(step.send->words));
      if (!sent_[rank]) arrivals_[{rank, step.send->to}].push_back(end);
      sent_[rank] = true;
    }
    if (step.receive) {
      auto& queue = arrivals_[{step.receive->from, rank}];
      if (queue.empty()) return false;
      end = std::max(end, queue.front());
      queue.pop_front();
    }
    at_[rank] = end;
    ++step_[rank];
    sent_[rank] = false;
    return true;
  }

  const std::vector<RankSchedule>& schedules_;
  std::uint64_t (*const cost_)(std::uint64_t words);
  std::vector<std::uint64_t> at_;
  std::vector<std::size_t> step_;
  std::map<Rank, bool> sent_;
  std::map<std::pair<Rank, Rank>, std::deque<std::uint64_t>> arrivals_;
};

}  // namespace

std::uint64_t words_in(const std::vector<WordRange>& ranges) {
  std::uint64_t words = 0;
  for (const WordRange& range : ranges) words += range.count;
  return words;
}

std::uint64_t words_of_size(CollectiveKind kind, Rank ranks, std::uint64_t size_bytes) {
  if (kind == CollectiveKind::barrier) return 1;
  return size_bytes / kWordBytes / (has_blocks(kind) ? ranks : 1);
}

std::uint64_t least_size(CollectiveKind kind, Rank ranks) {
  return kWordBytes * (has_blocks(kind) ? ranks : 1);
}

std::uint64_t bytes_of_words(CollectiveKind kind, Rank ranks, std::uint64_t words) {
  if (kind == CollectiveKind::barrier) return 0;
  return kWordBytes * words * (has_blocks(kind) ? ranks : 1);
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
  totals.steps = Clockwork(schedules, [](std::uint64_t) -> std::uint64_t { return 1; }).run();
  totals.step_words = Clockwork(schedules, [](std::uint64_t each) { return each; }).run();
  return totals;
}

std::vector<Rank> collective_receivers(const Collective& collective, Rank rank, Rank ranks) {
  if (collective.receivers != nullptr) return collective.receivers(rank, ranks);
  std::vector<Rank> receivers;
  for (const CollectiveStep& step : collective.make(rank, ranks, 1).steps)
    if (step.send && std::ranges::find(receivers, step.send->to) == receivers.end())
      receivers.push_back(step.send->to);
  return receivers;
}

WordRange block_of(std::uint64_t words, Rank blocks, Rank block) {
  const std::uint64_t each = words / blocks, rest = words % blocks;
  return {.begin = block * each + std::min<std::uint64_t>(block, rest),
          .count = each + (block < rest ? 1 : 0)};
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
