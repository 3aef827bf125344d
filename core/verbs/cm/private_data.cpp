// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/private_data.h"

#include <fmt/format.h>

#include <charconv>

namespace rdmameter {
namespace {

constexpr std::size_t kNonceAt = 4, kNonceBytes = 32, kIndexAt = kNonceAt + kNonceBytes;
static_assert(kIndexAt + 2 * sizeof(std::uint32_t) == kCmRequestBytes);

void put(std::span<std::uint8_t, 4> to, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

std::uint32_t get(std::span<const std::uint8_t> from) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | from[i];
  return value;
}

}  // namespace

std::array<std::uint8_t, kCmRequestBytes> cm_request_bytes(const CmRequest& request) {
  std::array<std::uint8_t, kCmRequestBytes> bytes{};
  for (std::size_t i = 0; i < kNonceBytes; ++i)
    std::from_chars(&request.nonce[2 * i], &request.nonce[2 * i] + 2, bytes[kNonceAt + i], 16);
  put(std::span(bytes).subspan<kIndexAt, 4>(), request.index);
  put(std::span(bytes).subspan<kIndexAt + 4, 4>(), request.qpn);
  return bytes;
}

std::optional<CmRequest> cm_request_from(std::span<const std::uint8_t> data) {
  if (data.size() < kCmRequestBytes) return std::nullopt;
  CmRequest request;
  for (std::size_t i = 0; i < kNonceBytes; ++i)
    request.nonce += fmt::format("{:02x}", data[kNonceAt + i]);
  request.index = get(data.subspan(kIndexAt));
  request.qpn = get(data.subspan(kIndexAt + 4));
  return request;
}

}  // namespace rdmameter
