// SPDX-License-Identifier: Apache-2.0
// What an initiator's request says of itself: of which case it is, and which of its QPs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmameter {

struct CmRequest {
  std::string nonce;        ///< the case's, which the responder gave over the session: kNonceChars
  std::uint32_t index = 0;  ///< of the QP
  std::uint32_t qpn = 0;    ///< the initiator's, which a datagram's request does not carry
};

/// Zeros, 256 bits and two numbers: rdma_cm leaves 56 bytes to a connection's request
/// (rdma_connect(3)). With AF_IB the kernel (since 4.3, drivers/infiniband/core/cma.c) takes the
/// first two for a header of its own, and only zeros for one that names no IP addresses.
inline constexpr std::size_t kCmRequestBytes = 44;

/// @param request  its nonce is kNonceChars of hexadecimal
std::array<std::uint8_t, kCmRequestBytes> cm_request_bytes(const CmRequest& request);

/// @param data  what came, with padding
/// @return nullopt: too short to be one of ours
std::optional<CmRequest> cm_request_from(std::span<const std::uint8_t> data);

}  // namespace rdmameter
