// SPDX-License-Identifier: Apache-2.0
// Receives for what is sent over iWARP. Nothing there says "not ready": a send that finds no
// receive ends the connection (RFC 5041, 8.2: untagged buffer error, no buffer available). So a
// sender of bandwidth has credits for the receives that its peer has posted; where each message is
// answered, the answer is the credit.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/loop/loop_state.h"
#include "core/test_case/test_case.h"
#include "core/verbs/handles.h"

namespace rdmameter {

/// Do its sends wait for credits?
/// @param iwarp  it is measured on an iWARP device
bool needs_credits(const TestCase& test_case, bool iwarp);

/// WRs per receive list of a case over iWARP: so few that there are always some posted, where they
/// were not specified.
/// @throws Unsupported  its messages might find no receive
std::uint64_t receive_list_for_iwarp(const TestCase& test_case);

/// Most requests of a QP without an answer, so that each finds a receive: of an open loop on iWARP.
std::uint32_t most_unanswered(const TestCase& test_case);

/// The words of an endpoint's credits, which the peer writes and which it writes to the peer.
class Credits {
 public:
  /// @param test_case    with its lists of receives known
  /// @param peer_access  IBV_ACCESS_REMOTE_WRITE where it gets credits, else 0
  /// @throws VerbsError
  Credits(ibv_pd& pd, const TestCase& test_case, int peer_access, const std::string& where);
  Credits(Credits&&) = delete;  // the device reads and writes them, and lanes point to them

  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(words_.get()); }
  std::uint32_t rkey() const { return mr_->rkey; }

  /// Builds the writes to a peer whose words are at this address.
  void aim(std::span<ibv_qp* const> qps, std::uint64_t peer_address, std::uint32_t peer_rkey);

  /// The credits of each QP, or one credit that all share.
  std::span<Credit> all() { return credits_; }

 private:
  /// A cache line, since the device writes to one while a loop reads the other.
  struct alignas(64) Words {
    std::uint32_t granted;             ///< by the peer
    alignas(64) std::uint32_t posted;  ///< what the peer is told
  };

  std::vector<Credit> credits_;
  std::unique_ptr<Words[]> words_;
  Mr mr_;
};

}  // namespace rdmameter
