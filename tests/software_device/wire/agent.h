// SPDX-License-Identifier: Apache-2.0
// A thread that moves bytes of its process's memory for peers who cannot reach it themselves: a
// sandbox refuses them process_vm_readv() and its like, or a GPU has that memory. It runs in
// processes with RDMAMETER_DEVICE_AGENT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/software_device/segment/mailbox.h"
#include "tests/software_device/wire/transfer.h"

namespace rdmameter::software {

/// Once in this process, for its place in the table; without the setting nothing.
void start_agent();
bool has_agent();

/// Lets the owner of `place` copy between it and `bytes`.
Moved ask_agent(const Pieces& place, std::span<std::byte> bytes, bool write);

}  // namespace rdmameter::software
