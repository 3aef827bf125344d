// SPDX-License-Identifier: Apache-2.0
// WRITEs whose middle lands after their last byte, as on fabrics that route packets adaptively.
#pragma once

#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/wire/transfer.h"

namespace rdmameter::software {

/// Copies the bytes of a WRITE, of which chance (`torn` of the wire) may hold back what is neither
/// in the first packet nor in the last word. That lands when the QP's next WRITE is carried out by
/// the same process; without one it never does.
Moved transfer_write(SharedQp& qp, const SharedQp& peer, const Pieces& from, const Pieces& to);

/// What is held back of the QP is lost: it is destroyed.
void forget_torn_write(std::uint32_t qpn);

}  // namespace rdmameter::software
