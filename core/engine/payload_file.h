// SPDX-License-Identifier: Apache-2.0
// The bytes of messages whose payload is a file of the initiator's machine.
#pragma once

#include "core/test_case/test_case.h"

namespace rdmameter {

/// The case with its payload's file read, as far as kMaxPayloadFileBytes; where its payload is no
/// file, as it was.
/// @throws VerbsError   the file cannot be read
/// @throws Unsupported  it is empty
TestCase with_payload(const TestCase& test_case);

}  // namespace rdmameter
