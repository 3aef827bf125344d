// SPDX-License-Identifier: Apache-2.0
// What paths QPs were given, when requests were posted and polled, and which messages of UC and UD
// did not arrive as they were sent, as the device saw it: a witness beside what a program measures.
#pragma once

#include <cstdint>

#include "tests/software_device/device/settings.h"

namespace rdmameter::software {

enum class RequestStep : std::uint8_t {
  posted,
  polled,
  lost,        ///< by the wire
  duplicated,  ///< by the wire: the peer gets it twice
  overtaken,   ///< by a later one
  unreceived,  ///< the peer had no receive

  // What a QP or an address handle was given, as the axes of the program are named; `number` is the
  // value.
  mtu_bytes,
  service_level,
  traffic_class,
  flow_label,
  pkey_index,
  qp_timeout,
  retry_count,
  rnr_retry,
  min_rnr_timer,
  relaxed_ordering,  ///< of a memory region, as that of QP 0
};

void keep_in_log(RequestStep step, std::uint32_t qpn, std::uint32_t number);

/// A step of a send request. Nothing unless RDMAMETER_DEVICE_LOG is set.
/// @param number  of the send queue's requests; `polled`: of the last one that is retired
inline void log_request(RequestStep step, std::uint32_t qpn, std::uint32_t number) {
  if (!settings().log.empty()) [[unlikely]]
    keep_in_log(step, qpn, number);
}

}  // namespace rdmameter::software
