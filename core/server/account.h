// SPDX-License-Identifier: Apache-2.0
// What all clients of a server share, and each case takes a part of for its length.
#pragma once

#include <mutex>

#include "core/session/session_host.h"

namespace rdmameter {

/// Takes and gives back, from any thread.
class Account {
 public:
  explicit Account(const CaseNeeds& limits) : limits_(limits) {}

  /// Takes all that the case needs, or nothing.
  /// @throws Unsupported       it would not fit if it were alone
  /// @throws MeasurementError  it does not fit beside the others
  void take(const CaseNeeds& needs);
  void give_back(const CaseNeeds& needs) noexcept;

 private:
  const CaseNeeds limits_;
  std::mutex mutex_;
  CaseNeeds taken_;
};

}  // namespace rdmameter
