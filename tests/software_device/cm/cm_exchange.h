// SPDX-License-Identifier: Apache-2.0
// How rdma_cm's ids of all processes reach each other: the table of ids, and a mailbox for each
// event channel. One lock guards both.
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tests/software_device/segment/event_fd.h"
#include "tests/software_device/segment/segment.h"

namespace rdmameter::software {

/// Where an id is bound.
struct CmAddress {
  ibv_gid gid{};            ///< the IP address, IPv4 as ::ffff:a.b.c.d
  std::uint16_t port = 0;   ///< in host order
  bool infiniband = false;  ///< AF_IB

  bool any() const;  ///< the wildcard address
  bool operator==(const CmAddress& other) const;
};

/// What one id tells another, or itself: it becomes an event of the receiver.
struct CmMessage {
  static constexpr std::size_t kMostBytes = 196;  // of private data

  std::uint32_t to = 0, from = 0;
  rdma_cm_event_type event = RDMA_CM_EVENT_ADDR_RESOLVED;
  int status = 0;
  CmAddress address{};  ///< of the sender
  rdma_port_space space = RDMA_PS_TCP;
  std::uint32_t qpn = 0, psn = 0;
  std::uint8_t responder_resources = 0, initiator_depth = 0, retry_count = 0, rnr_retry_count = 0,
               srq = 0;
  std::uint32_t ece_vendor = 0, ece_options = 0;
  ibv_gid called{};  ///< of a request: the address it was sent to; of a joining: the group
  std::uint8_t length = 0;
  std::array<std::byte, kMostBytes> data{};
};

struct CmMailbox;
/// @return nowhere: the segment is full
Offset<CmMailbox> make_mailbox(const EventFd& event);
void destroy_mailbox(Offset<CmMailbox> mailbox);
std::optional<CmMessage> next_message(CmMailbox& mailbox);

/// Takes a number for an id whose messages go to the mailbox; 0: all are taken.
std::uint32_t add_cm_id(Offset<CmMailbox> mailbox);
/// The id takes requests for this address from now on.
/// @param backlog  requests that can wait until their events are taken
/// @return false: another one does
bool listen_at(std::uint32_t id, rdma_port_space space, const CmAddress& address,
               std::uint32_t backlog);
void redirect_cm_id(std::uint32_t id, Offset<CmMailbox> mailbox);
void remove_cm_id(std::uint32_t id);

/// A port that nobody has been given lately.
std::uint16_t ephemeral_port();

/// @return false: there is no such id any more
bool deliver(const CmMessage& message);
/// To whoever listens there; `message.to` is set.
/// @return false: nobody does, or the backlog is full
bool deliver_to_listener(CmMessage& message, rdma_port_space space, const CmAddress& address);

}  // namespace rdmameter::software
