// SPDX-License-Identifier: Apache-2.0
// Measures cases while other traffic goes on beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/engine/account/interval_thread.h"
#include "core/engine/measurer.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// Makes what measures the background: a session of its own with the same responder, and a device
/// of its own, so that it shares with the case what two processes would share.
/// @throws as make_measurer()
using MakeBackground = std::function<std::unique_ptr<Measurer>(
    const TestCase& background, const IntervalListener& listener, InterruptSource& interrupt)>;

/// Where a case has a background (Measurer::set_background()), it is measured only once that has
/// run for a while; the outcome says what the background did in the window of the case. The traffic
/// goes on, between repetitions too, until a case has another background or none.
/// @param cases      measures the cases
/// @param loops      the most that a background has at one end
/// @param interrupt  borrowed: the user's
std::unique_ptr<Measurer> make_background_measurer(std::unique_ptr<Measurer> cases,
                                                   MakeBackground make, std::uint64_t loops,
                                                   const InterruptSource& interrupt);

}  // namespace rdmameter
