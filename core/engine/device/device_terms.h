// SPDX-License-Identifier: Apache-2.0
// What a device demands of a case, and what a case demands of a device.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <string>

#include "core/engine/device/open_device.h"

namespace rdmameter {

/// The access flags with which a case's memory is
/// registered. @param remote_access  IBV_ACCESS_REMOTE_...
int memory_access(const TestCase& test_case, int remote_access);

/// @throws Unsupported  the device is an iWARP one, and that has no such transport, operation or
/// property of a path, or its QPs are not connected so
void require_link_has(const OpenDevice& device, const TestCase& test_case);

/// Whether an iWARP device has immediate data no attribute says: a provider without it refuses the
/// first post with EINVAL (rdma-core: irdma_upost_send(), c4iw_post_send(), siw_post_send()). So
/// does c4iw_post_send() any post to a QP that has failed: that says nothing of immediate data.
/// @param qps  of the end that posted
/// @param error  of the first post that failed; no request was completed before
/// @throws Unsupported  that is why
void require_posts(const OpenDevice& device, const TestCase& test_case,
                   std::span<ibv_qp* const> qps, int error);

/// @throws Unsupported  the device has no QPs of this transport: see lacks_transport()
void require_transport(const OpenDevice& device, const TestCase& test_case);

/// @param devices  of one end
/// @throws Unsupported  rdma_cm is to connect several, and would reach one by the port of another
void require_reached_apart(std::span<OpenDevice* const> devices, const TestCase& test_case);

/// @throws Unsupported  QPs of this device cannot be connected by the program itself (iWARP)
void require_connectable(const OpenDevice& device);

/// @param uses  IBV_ODP_SUPPORT_SEND...: what the end's memory is there for
/// @throws Unsupported  the case asks for on-demand paging, and the device does not have
///                      it for that
void require_paging(const DeviceLimits& limits, const TestCase& test_case, std::uint32_t uses,
                    const std::string& where);

}  // namespace rdmameter
