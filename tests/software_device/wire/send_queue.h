// SPDX-License-Identifier: Apache-2.0
// How posted requests come to be executed: at once where nothing is in the way, else when it is
// their time.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/wire/request.h"
#include "tests/software_device/wire/wire.h"

namespace rdmameter::software {

/// Posts a list. @return an errno value; `bad` is then the first one that was not posted
int post_sends(SharedQp& qp, ibv_send_wr* wr, ibv_send_wr*& bad);

/// The send queue's time has come: executes what can be; the rest goes back on the wire.
void move_send_queue(Due due);

/// The owner has brought the QP into the error state: all that waits is flushed.
void flush_sends(SharedQp& qp);

/// The owner brings the QP back to RESET: nothing of what it was about is left.
void reset_queues(SharedQp& qp);

/// Waits until nothing that a QP of UC or UD has sent is on its way.
void await_packets(SharedQp& qp);

}  // namespace rdmameter::software
