// SPDX-License-Identifier: Apache-2.0
// The CQs of one direction of an end: one for all QPs or one for each, of either interface, with a
// channel for their events where a wait needs one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/loop/wait.h"
#include "core/test_case/test_case.h"
#include "core/verbs/handles.h"

namespace rdmameter {

/// The properties of the CQs to create.
struct CqPlan {
  std::uint64_t count = 1;
  std::uint64_t entries = 1;  ///< of each
  bool timestamps = false;    ///< the device's, of each completion
  /// The parent domain of a thread domain: CQs for one thread, where the device has those. Null:
  /// for several.
  ibv_pd* domain = nullptr;
  std::string which;  ///< for texts: "send CQ"
};

class CompletionQueues {
 public:
  /// Extended where the case says so; with a channel, on its vector, where its wait is by events.
  /// @throws Unsupported, VerbsError
  CompletionQueues(ibv_context& context, const CqPlan& plan, const TestCase& test_case,
                   const std::string& where);
  CompletionQueues(CompletionQueues&&) = delete;  // the CQs point to their events

  const std::vector<ibv_cq*>& all() const noexcept { return all_; }
  /// How many of them were made for one thread.
  std::uint64_t single_threaded() const noexcept { return single_threaded_; }

 private:
  struct Queue {
    CqEvents events;
    Cq plain;
    CqEx extended;

    ~Queue();
    ibv_cq* get() const noexcept {
      return extended ? ibv_cq_ex_to_cq(extended.get()) : plain.get();
    }
  };
  /// @return false: the device has no such CQs
  bool create_single_threaded(Queue& queue, ibv_context& context, ibv_pd* domain,
                              ibv_cq_init_attr_ex attributes);
  void create(Queue& queue, ibv_context& context, const CqPlan& plan, const TestCase& test_case,
              const std::string& object);

  CompChannel channel_;
  std::unique_ptr<Queue[]> queues_;
  std::vector<ibv_cq*> all_;
  std::uint64_t single_threaded_ = 0;
};

}  // namespace rdmameter
