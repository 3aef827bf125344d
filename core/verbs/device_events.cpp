// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/device_events.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "core/base/kernel_files.h"

namespace rdmameter {
namespace {

using EventText = std::pair<ibv_event_type, std::string_view>;

/// Empty: it is not among them.
std::string_view text_of(ibv_event_type type, std::span<const EventText> among) {
  const auto found = std::ranges::find(among, type, &EventText::first);
  return found == among.end() ? std::string_view() : found->second;
}

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
  // Others tell of a step that went well, or of what a run outlives.
  static constexpr EventText kFatal[]{
      {IBV_EVENT_CQ_ERR, "IBV_EVENT_CQ_ERR: a completion queue overran"},
      {IBV_EVENT_QP_FATAL, "IBV_EVENT_QP_FATAL: a QP failed"},
      {IBV_EVENT_QP_REQ_ERR, "IBV_EVENT_QP_REQ_ERR: a QP got a request that it cannot serve"},
      {IBV_EVENT_QP_ACCESS_ERR,
       "IBV_EVENT_QP_ACCESS_ERR: a QP was asked for memory that it does not open"},
      {IBV_EVENT_SRQ_ERR, "IBV_EVENT_SRQ_ERR: a shared receive queue failed"},
      {IBV_EVENT_DEVICE_FATAL, "IBV_EVENT_DEVICE_FATAL: the device failed or was removed"},
      {IBV_EVENT_PORT_ERR, "IBV_EVENT_PORT_ERR: the port went down"},
      {IBV_EVENT_LID_CHANGE,
       "IBV_EVENT_LID_CHANGE: the port got another LID, so the paths to it lead nowhere"},
      {IBV_EVENT_WQ_FATAL, "IBV_EVENT_WQ_FATAL: a work queue failed"}};
  return text_of(type, kFatal);
}

std::string_view noted_event_text(ibv_event_type type) {
  static constexpr EventText kNoted[]{{IBV_EVENT_GID_CHANGE, "IBV_EVENT_GID_CHANGE"},
                                      {IBV_EVENT_PKEY_CHANGE, "IBV_EVENT_PKEY_CHANGE"},
                                      {IBV_EVENT_SM_CHANGE, "IBV_EVENT_SM_CHANGE"},
                                      {IBV_EVENT_CLIENT_REREGISTER, "IBV_EVENT_CLIENT_REREGISTER"}};
  return text_of(type, kNoted);
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

Counters read_counters(std::string_view device, unsigned port_num,
                       const std::filesystem::path& sysfs) {
  const std::filesystem::path root = sysfs / "class/infiniband" / device;
  const std::filesystem::path port = root / "ports" / std::to_string(port_num);
  Counters counters;
  for (const auto& folder : {root / "hw_counters", port / "counters", port / "hw_counters"})
    for (const std::filesystem::path& file : entries_of(folder))
      if (const std::optional<std::uint64_t> value = read_count(file))
        counters.insert_or_assign(file.filename(), *value);
  counters.erase("lifespan");
  return counters;
}

Json counter_differences(const Counters& before, const Counters& after) {
  if (before.empty() && after.empty()) return nullptr;
  Json differences = Json::object();
  for (const auto& [name, value] : after) {
    const auto earlier = before.find(name);
    if (earlier != before.end() && value > earlier->second)
      differences[name] = value - earlier->second;
  }
  return differences;
}

}  // namespace rdmameter
