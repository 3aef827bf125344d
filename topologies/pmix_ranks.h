// SPDX-License-Identifier: Apache-2.0
// Ranks by PMIx (pmix.github.io/pmix-standard): mpirun, prterun and srun --mpi=pmix speak it.
#pragma once

#include <chrono>
#include <memory>

#include "core/session/wait.h"
#include "topologies/ranks.h"

namespace rdmameter {

/// Has a launcher that speaks PMIx started this process?
bool started_by_pmix();

/// @param patience  how long a rank may keep the others waiting
/// @throws MeasurementError  the launcher's server does not answer
std::unique_ptr<Ranks> join_pmix(std::chrono::milliseconds patience,
                                 const InterruptSource& interrupt);

}  // namespace rdmameter
