// SPDX-License-Identifier: Apache-2.0
// Where a server's token comes from: never an argument, which every user of the machine can read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

inline constexpr const char* kTokenVariable = "RDMAMETER_TOKEN";
inline constexpr const char* kTokenFileHelp =
    "a file whose first line is the server's token. Without it: RDMAMETER_TOKEN; "
    "without that, on loopback: the file that a server of this user has left";

/// The token in the file, or in RDMAMETER_TOKEN where no file is named; empty: neither is there.
/// @throws UsageError where the file cannot be read, other users can reach it, or what it holds
/// cannot be a token
std::string read_token(const std::string& file);

// What is typed may hold a server's token; what is shown, recorded or listed by `ps` must not.

/// An argument with *** for the value of each RDMAMETER_TOKEN=VALUE in it, which may be quoted as
/// in a shell; one without a token is as it was.
std::string without_token(std::string_view argument);

/// What stands between single quotes of a POSIX shell for this text.
std::string quoted_text(std::string_view text);

/// The command line as one would type it, quoted where the shell needs it, and with *** for a
/// token: for people, the result and other ranks.
std::string shell_text(const std::vector<std::string>& arguments);

/// Overwrites the token in the process's own arguments, so that `ps` no longer shows it.
void hide_token(int argc, char** argv);

}  // namespace rdmameter
