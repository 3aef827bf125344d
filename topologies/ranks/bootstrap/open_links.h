// SPDX-License-Identifier: Apache-2.0
// How a rank finds the ranks 2^k ahead of and behind it, connects with them, and knows that
// it is they.
#pragma once

#include <string>
#include <vector>

#include "core/wire/seal.h"
#include "core/wire/socket.h"
#include "topologies/ranks/bootstrap/ranks.h"

namespace rdmameter {

class PmixJob;

struct OpenedLink {
  std::string name;  ///< "rank 3 on node1"
  Descriptor socket;
  SealKeys keys;  ///< of what follows
};

struct OpenedLinks {
  std::vector<OpenedLink> ahead, behind;  ///< of 2^0, 2^1... ranks away
};

/// Publishes this rank's card (its addresses, port and secret), takes those of the ranks ahead, and
/// connects with these; the ranks behind connect with this one. Both ends of each connection prove
/// that they know the secret of the end that listens, which only processes of this job can read
/// (core/wire/auth.h). Strangers that connect are listened to at the same time, as at a server
/// (core/wire/waiting_room.h), and delay no rank.
/// @throws as join_ranks()
OpenedLinks open_links(PmixJob& job, const BootstrapOptions& options,
                       const InterruptSource& interrupt);

}  // namespace rdmameter
