// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rdmameter {

/// Started with stdin, stdout or stderr closed, the next files and sockets that the program opens
/// would get their numbers, and what is meant for people would go into them. This gives each of
/// them /dev/null, opened the other way round: to read or write it fails as on a closed one
/// (EBADF). Call it before anything is opened.
void occupy_standard_streams() noexcept;

}  // namespace rdmameter
