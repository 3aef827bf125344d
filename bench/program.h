// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rdmameter {

/// The program but for main(), so that it is compiled in a unit with what it calls.
/// @return  the exit status
int run_program(int argc, char** argv);

}  // namespace rdmameter
