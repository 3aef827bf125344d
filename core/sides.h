// SPDX-License-Identifier: Apache-2.0
// One end's sides of a case: of the direction in which the initiator sends, and, where the
// responder sends as well, of the other.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "core/case.h"
#include "core/endpoint.h"
#include "core/side.h"

namespace rdmameter {

struct Sides {
  std::unique_ptr<Side> forward;
  std::unique_ptr<Side> backward;  ///< null: one way only

  /// Of both, for the peer.
  nlohmann::json introduction() const;
  /// @param peer  its introduction. @throws as Side::connect()
  void connect(const nlohmann::json& peer);
  /// See Side::establish(): in the same order at both ends.
  void establish();
};

/// An end of a case on a verbs device, on one thread or several.
/// @param role   the end's; its backward side has the other one
/// @param watch  what ends a wait for rdma_cm
Sides make_verbs_sides(OpenDevice& device, const Case& one_case, Role role, std::uint64_t seed,
                       CmWatch watch);

/// The CPU `count` after `core` [kAuto stays kAuto]: where the backward side's threads run.
std::uint64_t core_after(std::uint64_t core, std::uint64_t count);

}  // namespace rdmameter
