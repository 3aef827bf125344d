// SPDX-License-Identifier: Apache-2.0
// Where a server's token comes from: never an argument, which every user of the machine can read.
#pragma once

#include <string>

namespace rdmameter {

inline constexpr const char* kTokenVariable = "RDMAMETER_TOKEN";
inline constexpr const char* kTokenFileHelp =
    "a file whose first line is the server's token. Without it: RDMAMETER_TOKEN; "
    "without that, on loopback: the file that a server of this user has left";

/// The token in the file, or in RDMAMETER_TOKEN where no file is named; empty: neither is there.
/// @throws UsageError where the file cannot be read, other users can reach it, or what it holds
/// cannot be a token
std::string read_token(const std::string& file);

}  // namespace rdmameter
