// SPDX-License-Identifier: Apache-2.0
// What perftest mode says on stderr beyond failures. perftest says nothing there in a run that goes
// well, and scripts take any byte on stderr for a failure: notes are written only where the
// environment asks for them.
#pragma once

#include <string_view>

namespace rdmameter {

inline constexpr const char* kNotesVariable = "RDMAMETER_NOTES";

/// Is it set, and not 0?
bool notes_wanted();

/// "rdmameter: TEXT" on stderr, if notes are wanted.
/// @param text  of others, too: it is made printable
void tell_note(std::string_view text);

}  // namespace rdmameter
