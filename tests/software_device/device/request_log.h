// SPDX-License-Identifier: Apache-2.0
// What paths QPs were given, when requests were posted and polled, and which messages of UC and UD
// did not arrive as they were sent, as the device saw it: a witness beside what a program measures.
#pragma once

#include <cstdint>

#include "tests/software_device/device/settings.h"

namespace rdmameter::software {

void keep_in_log(const char* what, std::uint32_t qpn, std::uint32_t number);

/// What happens to a send request: "posted", "polled", "unreceived" (the peer had no receive), and by
/// the wire "lost", "duplicated", "overtaken" (by a later one). What a QP, an address handle or a
/// memory region is given is named as the program's rows name it; the number is its value. Nothing
/// unless RDMAMETER_DEVICE_LOG is set.
/// @param what    a literal
/// @param number  of the send queue's requests; "polled": of the last one that is retired
inline void log_request(const char* what, std::uint32_t qpn, std::uint32_t number) {
  if (!settings().log.empty()) [[unlikely]]
    keep_in_log(what, qpn, number);
}

}  // namespace rdmameter::software
