// SPDX-License-Identifier: Apache-2.0
// The bytes of messages whose payload is a file of the initiator's machine.
#pragma once

#include "core/case.h"

namespace rdmameter {

/// The case with its payload's file read, as far as kMostPayloadFileBytes; where its payload is no
/// file, as it was.
/// @throws VerbsError   the file cannot be read
/// @throws Unsupported  it is empty
Case with_payload(const Case& one_case);

}  // namespace rdmameter
