// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/rank_collective.h"

#include <arpa/inet.h>

#include <cstring>

namespace rdmameter {
namespace {

constexpr std::uint8_t kNoResult = 0xa5;

bool overlap(const WordRange& a, const WordRange& b) {
  return a.begin < b.begin + b.count && b.begin < a.begin + a.count;
}

/// Is it sent from where the words are?
bool sent_in_place(const SentWords& sent) {
  return sent.words.size() == 1;
}

/// Those that are sent of many ranges: each message has a place of its own.
std::uint64_t packed_words(const RankSchedule& schedule) {
  std::uint64_t words = 0;
  for (const CollectiveStep& step : schedule.steps)
    if (step.send && !sent_in_place(*step.send)) words += words_in(step.send->words);
  return words;
}

}  // namespace

RankCollective::RankCollective(OpenDevice& device, ibv_pd& pd, RankQueues& queues,
                               const MessagePattern& pattern)
    : device_queues_(queues),
      pattern_(pattern),
      memory_(*device.context, device.limits.max_dm_size_bytes,
              (schedule_.memory_words + packed_words(schedule_)) * kWordBytes, device.numa_node,
              plan_.all.test_case.initiator.memory, device.port.where(), device.memory),
      mr_(memory_.register_part(pd, 0, memory_.size_bytes(),
                                memory_access(plan_.all.test_case, 0))),
      expected_(expected_result(
          *plan_.all.traffic.entry->collective, plan_.rank, plan_.all.graph.ranks(),
          plan_.all.words,
          [&pattern](Rank other, std::uint64_t at) { return input_word(pattern, other, at); })) {
  const Rank ranks = plan_.all.graph.ranks();
  const std::size_t steps = schedule_.steps.size();
  arrivals_of_.resize(ranks);
  for (std::size_t i = 0; i < steps; ++i) build_step(schedule_.steps[i], i);
  arrival_queues_.resize(ranks);
  for (Rank source = 0; source < ranks; ++source) {
    if (arrivals_of_[source].empty()) continue;
    sources_.push_back(source);
    arrival_queues_[source].first = arrivals_of_[source].data();
  }
  for (Hop& hop : hops_) hop_pointers_.push_back(&hop);
  work_ = {.steps = steps_,
           .hops = hop_pointers_.data(),
           .queues = arrival_queues_.data(),
           .sources = sources_};
  fill();
}

void RankCollective::build_step(const CollectiveStep& step, std::size_t number) {
  StepWork& work = steps_.emplace_back();
  std::vector<WordCopy>& copies = copies_.emplace_back();
  if (number == 0)
    for (const WordMove& move : schedule_.moves)
      copies.push_back({.to = word(move.to), .from = word(move.from), .count = move.count});
  if (step.send) build_send(*step.send, work);
  if (step.receive) {
    build_arrival(*step.receive, work);
    work.left_before = sends_before(*step.receive, number);
  }
  work.copies = copies;
}

void RankCollective::build_send(const SentWords& sent, StepWork& work) {
  std::uint64_t begin = sent.words.front().begin;
  const std::uint64_t words = words_in(sent.words);
  if (!sent_in_place(sent)) {
    begin = schedule_.memory_words + packed_words_;
    for (const WordRange& range : sent.words) {
      copies_.back().push_back({.to = word(schedule_.memory_words + packed_words_),
                                .from = word(range.begin),
                                .count = range.count});
      packed_words_ += range.count;
    }
  }
  ibv_sge& sge = sges_.emplace_back();
  sge = {.addr = memory_.address() + begin * kWordBytes,
         .length = static_cast<std::uint32_t>(words * kWordBytes),
         .lkey = mr_->lkey};
  Hop& hop = hops_.emplace_back(make_hop(sge, IBV_WR_SEND_WITH_IMM));
  hop.wr.imm_data = htonl(label(plan_.rank, sent.to));
  hop.link = device_queues_.link_to(sent.to);
  work.hop = &hop;
}

void RankCollective::build_arrival(const ReceivedWords& received, StepWork& work) {
  std::vector<WordTarget>& targets = targets_.emplace_back();
  for (const WordRange& range : received.words)
    targets.push_back({.to = word(range.begin),
                       .added_to = received.added_to ? word(*received.added_to) : nullptr,
                       .count = range.count});
  const std::uint64_t bytes = words_in(received.words) * kWordBytes;
  Arrival& arrival = arrivals_.emplace_back();
  arrival = {.targets = targets, .bytes = bytes, .place = kept_.emplace_back(bytes).data()};
  arrivals_of_[received.from].push_back(&arrival);
  work.arrival = &arrival;
}

/// How many of the messages sent up to that step must have left before these words are written.
std::uint32_t RankCollective::sends_before(const ReceivedWords& received,
                                           std::size_t number) const {
  std::uint32_t sends = 0, before = 0;
  for (std::size_t i = 0; i <= number; ++i) {
    const auto& send = schedule_.steps[i].send;
    if (!send) continue;
    ++sends;
    if (!sent_in_place(*send)) continue;
    for (const WordRange& range : received.words)
      if (overlap(range, send->words.front())) before = sends;
  }
  return before;
}

void RankCollective::fill() {
  std::memset(memory_.host(), kNoResult, schedule_.memory_words * kWordBytes);
  for (std::uint64_t at = 0; at < schedule_.input.count; ++at)
    *word(schedule_.input.begin + at) = input_word(pattern_, plan_.rank, at);
}

std::uint64_t RankCollective::wrong_bytes() const {
  const auto* const result = reinterpret_cast<const std::uint8_t*>(word(schedule_.result.begin));
  const auto* const expected = reinterpret_cast<const std::uint8_t*>(expected_.data());
  if (std::memcmp(result, expected, result_bytes()) == 0) return 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t at = 0; at < result_bytes(); ++at) wrong += result[at] != expected[at];
  return wrong;
}

}  // namespace rdmameter
