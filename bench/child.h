// SPDX-License-Identifier: Apache-2.0
// Another process of ours: started, waited for, ended with us.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "core/session/wait.h"

namespace rdmameter {

struct ChildEnd {
  int status = 0;      ///< of its exit; 128 and the signal's number where one ended it
  std::string output;  ///< its stdout
};

/// Runs a command to its end; its stderr is ours.
/// @param words      path and arguments
/// @param variables  in addition to our own environment
/// @param interrupt   ends the child, too
/// @param last_words  how long an interrupted child may be silent before it is killed; until then
///                    it has no limit but its own, for what it measures may take any time
/// @throws MeasurementError  it cannot be started
/// @throws Interrupted       the user ended us
ChildEnd run_child(const std::vector<std::string>& words,
                   const std::vector<std::pair<std::string, std::string>>& variables,
                   const InterruptSource& interrupt,
                   std::chrono::milliseconds last_words = std::chrono::seconds(60));

}  // namespace rdmameter
