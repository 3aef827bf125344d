// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/async_events.h"

#include <poll.h>

#include <algorithm>

namespace rdmameter {
namespace {

bool waits(const ibv_context& context) {
  pollfd events{context.async_fd, POLLIN, 0};
  return poll(&events, 1, 0) > 0 && (events.revents & POLLIN) != 0;
}

bool of_another_port(const ibv_async_event& event, std::uint8_t port_num) {
  const bool of_a_port = event.event_type == IBV_EVENT_PORT_ERR ||
                         event.event_type == IBV_EVENT_LID_CHANGE ||
                         !noted_event_text(event.event_type).empty();
  return of_a_port && event.element.port_num != port_num;
}

}  // namespace

std::string_view fatal_event_text(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return "IBV_EVENT_CQ_ERR: a completion queue overran";
    case IBV_EVENT_QP_FATAL:
      return "IBV_EVENT_QP_FATAL: a QP failed";
    case IBV_EVENT_QP_REQ_ERR:
      return "IBV_EVENT_QP_REQ_ERR: a QP got a request that it cannot serve";
    case IBV_EVENT_QP_ACCESS_ERR:
      return "IBV_EVENT_QP_ACCESS_ERR: a QP was asked for memory that it does not open";
    case IBV_EVENT_SRQ_ERR:
      return "IBV_EVENT_SRQ_ERR: a shared receive queue failed";
    case IBV_EVENT_DEVICE_FATAL:
      return "IBV_EVENT_DEVICE_FATAL: the device failed or was removed";
    case IBV_EVENT_PORT_ERR:
      return "IBV_EVENT_PORT_ERR: the port went down";
    case IBV_EVENT_LID_CHANGE:
      return "IBV_EVENT_LID_CHANGE: the port got another LID, so the paths to it lead nowhere";
    case IBV_EVENT_WQ_FATAL:
      return "IBV_EVENT_WQ_FATAL: a work queue failed";
    default:  // tells of a step that went well, or of what a run outlives
      return {};
  }
}

std::string_view noted_event_text(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_GID_CHANGE:
      return "IBV_EVENT_GID_CHANGE";
    case IBV_EVENT_PKEY_CHANGE:
      return "IBV_EVENT_PKEY_CHANGE";
    case IBV_EVENT_SM_CHANGE:
      return "IBV_EVENT_SM_CHANGE";
    case IBV_EVENT_CLIENT_REREGISTER:
      return "IBV_EVENT_CLIENT_REREGISTER";
    default:
      return {};
  }
}

std::string take_fatal_event(ibv_context& context, std::uint8_t port_num,
                             std::vector<std::string>& noted) {
  std::string fatal;
  while (waits(context)) {
    ibv_async_event event{};
    if (ibv_get_async_event(&context, &event) != 0) break;
    if (!of_another_port(event, port_num)) {
      if (fatal.empty()) fatal = fatal_event_text(event.event_type);
      const std::string_view note = noted_event_text(event.event_type);
      if (!note.empty() && std::ranges::find(noted, note) == noted.end()) noted.emplace_back(note);
    }
    ibv_ack_async_event(&event);
  }
  return fatal;
}

}  // namespace rdmameter
