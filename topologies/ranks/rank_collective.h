// SPDX-License-Identifier: Apache-2.0
// A rank's memory and prebuilt steps of a collective. All of it is made before the clock starts.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "core/engine/endpoint.h"
#include "core/verbs/memory/memory.h"
#include "topologies/ranks/loop/collective_loop.h"
#include "topologies/ranks/loop/payload.h"
#include "topologies/ranks/rank_queues.h"

namespace rdmameter {

/// The word of a rank's input. @param at  as InputWord
inline std::uint32_t input_word(const MessagePattern& pattern, Rank rank, std::uint64_t at) {
  return static_cast<std::uint32_t>(message_word(pattern, rank, at));
}

class RankCollective {
 public:
  /// @param queues  borrowed: their links are there
  /// @throws VerbsError, Unsupported
  RankCollective(OpenDevice& device, ibv_pd& pd, RankQueues& queues, const MessagePattern& pattern);
  RankCollective(RankCollective&&) = delete;  // posted WRs point into it

  /// Where its times go is for who runs it to say.
  CollectiveWork& work() { return work_; }

  /// Puts the rank's input into its memory, and what cannot be a result everywhere else.
  void fill();
  /// @return  bytes of the result that are not as they must be, if all ranks have filled their
  ///          memory before
  std::uint64_t wrong_bytes() const;
  std::uint64_t result_bytes() const { return expected_.size() * kWordBytes; }

 private:
  std::uint32_t* word(std::uint64_t at) const {
    return reinterpret_cast<std::uint32_t*>(memory_.host()) + at;
  }
  void build_step(const CollectiveStep& step, std::size_t number);
  void build_send(const SentWords& sent, StepWork& work);
  void build_arrival(const ReceivedWords& received, StepWork& work);
  std::uint32_t sends_before(const ReceivedWords& received, std::size_t number) const;

  RankQueues& device_queues_;
  const RankPlan& plan_ = device_queues_.plan();
  const RankSchedule& schedule_ = plan_.schedule;
  const MessagePattern pattern_;
  MessageMemory memory_;
  Mr mr_;
  std::uint64_t packed_words_ = 0;  ///< behind the schedule's memory: what is sent of many ranges
  std::vector<std::uint32_t> expected_;

  std::vector<StepWork> steps_;
  std::vector<std::vector<WordCopy>> copies_;
  // Others point into these as they grow.
  std::deque<Hop> hops_;
  std::deque<ibv_sge> sges_;
  std::deque<Arrival> arrivals_;
  std::vector<Hop*> hop_pointers_;
  std::vector<std::vector<WordTarget>> targets_;
  std::vector<std::vector<std::uint8_t>> kept_;  ///< of each arrival: where it waits for its step
  std::vector<std::vector<Arrival*>> arrivals_of_;  ///< by source
  std::vector<ArrivalQueue> arrival_queues_;
  std::vector<std::uint32_t> sources_;
  CollectiveWork work_;
};

}  // namespace rdmameter
