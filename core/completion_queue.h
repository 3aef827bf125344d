// SPDX-License-Identifier: Apache-2.0
// A CQ of either interface, with a channel for its events where a wait needs one.
#pragma once

#include <cstdint>
#include <string>

#include "core/case.h"
#include "core/handles.h"
#include "core/loop/wait.h"

namespace rdmameter {

class CompletionQueue {
 public:
  /// Extended where the case says so; with a channel where its wait is by events.
  /// @param cqes   completions that it must hold
  /// @param which  for texts: "send CQ"
  /// @throws Unsupported, VerbsError
  CompletionQueue(ibv_context& context, std::uint64_t cqes, const Case& one_case,
                  const std::string& which, const std::string& where);
  CompletionQueue(CompletionQueue&&) = delete;  // the CQ points to events_
  ~CompletionQueue();

  ibv_cq* get() const noexcept {
    return extended_ ? ibv_cq_ex_to_cq(extended_.get()) : plain_.get();
  }

 private:
  CompChannel channel_;
  CqEvents events_;
  Cq plain_;
  CqEx extended_;
};

}  // namespace rdmameter
