// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/failure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "core/base/error.h"

namespace rdmameter {
namespace {

// Reasons of a REJ (IBTA vol. 1, table 107; the kernel's ib_cm.h) that need a remedy of their own.
constexpr int kNoResources = 3, kTimeout = 4, kInvalidServiceId = 8, kStaleConnection = 10,
              kConsumer = 28;

std::string_view reject_reason(int reason) {
  constexpr std::array<std::string_view, 34> kReasons{
      "",
      "no QP available",
      "no EEC available",
      "no resources available",
      "timeout",
      "unsupported request",
      "invalid communication ID",
      "invalid communication instance",
      "invalid service ID",
      "invalid transport service type",
      "stale connection",
      "RDC does not exist",
      "GID rejected",
      "LID rejected",
      "invalid service level",
      "invalid traffic class",
      "invalid hop limit",
      "invalid packet rate",
      "alternate GID rejected",
      "alternate LID rejected",
      "invalid alternate service level",
      "invalid alternate traffic class",
      "invalid alternate hop limit",
      "invalid alternate packet rate",
      "port and CM redirection",
      "port redirection",
      "invalid path MTU",
      "insufficient responder resources",
      "the consumer's own",
      "invalid RNR retry count",
      "duplicate local communication ID",
      "unsupported class version",
      "invalid flow label",
      "invalid alternate flow label",
  };
  return reason > 0 && static_cast<std::size_t>(reason) < kReasons.size()
             ? kReasons[static_cast<std::size_t>(reason)]
             : "unknown";
}

std::string_view datagram_status(int status) {
  constexpr std::array<std::string_view, 6> kStatuses{"success",    "service ID not supported",
                                                      "rejected",   "no QP available",
                                                      "redirected", "unsupported class version"};
  return static_cast<std::size_t>(status) < kStatuses.size()
             ? kStatuses[static_cast<std::size_t>(status)]
             : "unknown";
}

std::string meaning(rdma_cm_event_type event, int status) {
  if (status < 0) return std::generic_category().message(-status);
  if (event == RDMA_CM_EVENT_REJECTED) return std::string(reject_reason(status));
  if (event == RDMA_CM_EVENT_UNREACHABLE) return std::string(datagram_status(status));
  return {};
}

std::string_view reject_remedy(int reason) {
  switch (reason) {
    case kNoResources:
      return "The peer's machine has no room for more connections: use fewer --qps.";
    case kTimeout:
      return "An answer was lost on the way: is the network between the two devices congested?";
    case kInvalidServiceId:
      return "No program listens there: the responder has ended, or its address belongs to another "
             "machine, too.";
    case kStaleConnection:
      return "A QP of the same number was connected a moment ago: try again in a few seconds.";
    case kConsumer:
      return "The peer rejected it: is that the responder of this session?";
    default:
      return "The peer's connection manager rejected it.";
  }
}

std::string_view event_remedy(rdma_cm_event_type event, int status) {
  switch (event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
      return "There is no route to the address: look at `ip route get` and `ip neigh` for it, or "
             "choose --gid-index and --peer-gid-index of one network.";
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return "No route between the two ports was found: on InfiniBand, is a subnet "
             "manager running?";
    case RDMA_CM_EVENT_REJECTED:
      return reject_remedy(status);
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return status < 0
                 ? "Is the peer alive, and does the network between the two devices let its "
                   "packets through (RoCE v2: UDP port 4791)?"
                 : "The responder has ended, or its address belongs to another machine, too.";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "The peer has ended the connection, or died.";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "The device was removed.";
    case RDMA_CM_EVENT_ADDR_CHANGE:
      return "The network interface changed its hardware address.";
    case RDMA_CM_EVENT_MULTICAST_ERROR:
      return "The group cannot be joined: is the address a multicast one, and the network "
             "interface "
             "up and able to multicast (`ip link`)?";
    default:
      return "";
  }
}

/// A peer's words, as far as they are printable.
std::string printable(const void* data, std::size_t bytes) {
  const std::string_view words{static_cast<const char*>(data), bytes};
  std::string text{words.substr(0, words.find('\0'))};
  std::erase_if(text, [](char c) { return c < ' ' || c > '~'; });
  return text;
}

}  // namespace

std::string cm_event_text(rdma_cm_event_type event, int status, std::string_view object,
                          std::string_view words) {
  std::string text{rdma_event_str(event)};
  if (const std::string why = meaning(event, status); !why.empty())
    text += fmt::format(" (status {}: {})", status, why);
  text += fmt::format(" {}", object);
  if (!words.empty()) text += fmt::format(", which says \"{}\"", words);
  const std::string_view remedy = event_remedy(event, status);
  return remedy.empty() ? text : fmt::format("{}. {}", text, remedy);
}

std::string cm_event_text(const rdma_cm_event& event, std::string_view object) {
  // Of datagrams another member of the union holds; they say nothing with a refusal.
  const bool said =
      event.event == RDMA_CM_EVENT_REJECTED && event.param.conn.private_data != nullptr;
  return cm_event_text(
      event.event, event.status, object,
      said ? printable(event.param.conn.private_data, event.param.conn.private_data_len) : "");
}

void throw_cm_event(const rdma_cm_event& event, std::string_view object) {
  throw MeasurementError(cm_event_text(event, object));
}

}  // namespace rdmameter
