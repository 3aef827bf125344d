// SPDX-License-Identifier: Apache-2.0
// The protection domain of one thread's memory and queues, with a thread domain where the device
// has those: the provider can then leave out locks of the queues.
#pragma once

#include <cstdint>
#include <string>

#include "core/verbs/handles.h"

namespace rdmameter {

class ProtectionDomain {
 public:
  /// @param thread_domain  0: without; kAuto: where the device has one; else it must have
  /// @param where          the port, for texts
  /// @throws Unsupported, VerbsError
  ProtectionDomain(ibv_context& context, std::uint64_t thread_domain, const std::string& where);

  /// The PD of memory and address handles.
  ibv_pd& plain() const { return *pd_; }
  /// The PD of QPs and SRQs.
  ibv_pd& of_queues() const { return parent_ ? *parent_ : *pd_; }
  /// The thread domain's, for CQs for one thread; null: there is none.
  ibv_pd* parent() const { return parent_.get(); }

 private:
  Pd pd_;
  Td td_;
  Pd parent_;  ///< of pd_ and td_ together
};

}  // namespace rdmameter
