// SPDX-License-Identifier: Apache-2.0
// Tests that connect one QP after another, and time it: the initiator's part and the responder's.
//
//   initiator                        responder
//   prepare {case}              ->
//                               <-   ready {forward}, as of any case
//   connect {forward}           ->
//                               <-   running {}
//   for each connection:
//   make {keep}                 ->   lets the last one go, or keeps it; a QP in INIT
//                               <-   made {}
//   join {qpn, psn}             ->   to RTS (or else rdma_cm's requests and answers)
//                               <-   joined {qpn, psn}
//   finish {}                   ->
//                               <-   done {placement}
#pragma once

#include "core/engine/endpoint.h"
#include "core/engine/measurer.h"
#include "core/engine/placement/placement.h"
#include "core/instrument/clock.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// The initiator's part of a case whose verb needs a responder.
/// @param same_host  is the responder on this machine?
/// @throws as Measurer::measure(); the responder is then told, where it can be
Outcome measure_connects(Channel& channel, OpenDevice& device, const DeviceCase& test_case,
                         const Placement& placement, bool same_host, const ClockChoice& clock,
                         const InterruptSource& interrupt);

/// The responder's, after `prepare`.
/// @return false when the initiator has abandoned the case
bool serve_connects(Channel& channel, OpenDevice& device, const DeviceCase& test_case,
                    const Placement& placement, const InterruptSource& interrupt);

}  // namespace rdmameter
