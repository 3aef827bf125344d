// SPDX-License-Identifier: Apache-2.0
// A filter of system calls (seccomp), by libseccomp: the kernel refuses those of a table.
#pragma once

namespace rdmameter {

/// Why there is no filter here; null: there is one.
const char* missing_call_filter() noexcept;

/// Refuses the calls of core/server/refused_calls.h to the calling thread, for good, and to those
/// that it begins. Needs no_new_privs. Does nothing in a program without libseccomp.
/// @throws VerbsError  the kernel refuses
void enter_call_filter();

}  // namespace rdmameter
