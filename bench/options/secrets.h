// SPDX-License-Identifier: Apache-2.0
// What is typed may hold a server's token; what is shown, recorded or listed by `ps` must not.
#pragma once

#include <string>
#include <string_view>

namespace rdmameter {

/// An argument with *** for the value of each RDMAMETER_TOKEN=VALUE in it, which may be quoted as
/// in a shell; one without a token is as it was.
std::string without_token(std::string_view argument);

/// Overwrites the token in the process's own arguments, so that `ps` no longer shows it.
void hide_token(int argc, char** argv);

}  // namespace rdmameter
