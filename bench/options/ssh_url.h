// SPDX-License-Identifier: Apache-2.0
// ssh://[USER@]HOST[:PORT]: where a run starts its server, and the command that does so.
#pragma once

#include <string>
#include <string_view>

#include "bench/remote/remote_server.h"

namespace rdmameter {

inline constexpr std::string_view kSshScheme = "ssh://";

/// Reads a URL whose parts cannot be taken for anything else by ssh or by a shell.
/// @param ssh      the program and options, in words as a shell would take them apart
/// @param program  rdmameter's name or path there; relative to the home folder if it has a /
/// @throws UsageError
RemoteStart remote_start(std::string_view url, std::string_view ssh, const std::string& program);

}  // namespace rdmameter
