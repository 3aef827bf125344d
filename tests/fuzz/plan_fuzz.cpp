// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: what a proved peer may say of a case and of its end. The first byte chooses the
// number of QPs that an end must have; the rest is the JSON of a message: a case, an end, its
// ports, or any other of a session.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/base/error.h"
#include "core/engine/case_memory.h"
#include "core/engine/endpoint.h"
#include "core/engine/layout/layout.h"
#include "core/server/session_pipe.h"
#include "core/session/failure.h"
#include "core/session/messages.h"
#include "core/test_case/test_case.h"
#include "core/verbs/port_choice.h"
#include "core/wire/channel.h"

namespace rdmameter {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// No product of the plan's numbers may wrap: a buffer too small for its slots would be overrun.
void require_sound(const Area& area) {
  if (area.slots == 0) return;
  require(area.stride_bytes > area.head_bytes + area.payload_bytes);
  const auto exact = static_cast<unsigned __int128>(area.qps) * area.slots * area.stride_bytes;
  require(exact == area.total_bytes() && exact < (1ULL << 60));
  require(area.last_byte(area.qps - 1, area.slots - 1) < area.total_bytes() - 1);
  std::uint64_t end = area.head_bytes, bytes = 0;
  for (const Piece& piece : area.pieces) {
    require(piece.length > 0 && piece.offset >= end);
    end = piece.offset + piece.length;
    bytes += piece.length;
  }
  require(bytes == area.payload_bytes);
}

void take_case(const nlohmann::ordered_json& message) {
  const TestCase asked = case_from_wire(message);
  require(case_to_wire(case_from_wire(case_to_wire(asked))) == case_to_wire(asked));
  require(!case_json(asked).dump().empty());
  if (!why_impossible(asked).empty()) return;
  for (const Role role : {Role::initiator, Role::responder}) {
    const DeviceCase test_case = DeviceCase::usual(asked, role);
    const Layout layout = layout_of(test_case, role);
    require_sound(layout.source);
    require_sound(layout.target);
    const QueueDepths depths = queue_depths_of(test_case, role);
    require(depths.send >= 1 && depths.receive >= 1);
    const std::uint64_t bytes = case_memory_bytes(test_case);
    require(bytes >= layout.source.total_bytes() + layout.target.total_bytes());
    require(bytes < (1ULL << 60));
  }
}

void take_endpoint(const nlohmann::ordered_json& message, std::uint32_t qps) {
  const auto info = read_message<EndpointInfo>(message);
  require_queues_of(info, qps);
  require(info.qpns.size() == qps && info.psns.size() == qps);
  require(*std::ranges::max_element(info.psns) <= 0xffffff);
  require_queues_of(read_message<EndpointInfo>(make_message("", info)), qps);
}

/// What any two ends tell of their ports leads to a choice, and to texts.
void take_ports(const nlohmann::ordered_json& message) {
  const EndSettings any{
      .device = {}, .port_num = kAuto, .gid_index = kAuto, .core = {}, .memory = {}};
  const std::vector<PortFacts> ports = read_message<Ports>(message).value;
  const nlohmann::ordered_json again = make_message("", Ports{ports_to_tell(ports)});
  require(read_message<Ports>(again).value.size() == ports.size());
  const EndPorts end{ports, any};
  const PortFacts* const alone = choose_port(end, Transport::rc);
  const auto pair = choose_port_pair(end, end, Transport::rc);
  require((alone != nullptr) == pair.has_value());
  if (!pair) return;
  choice_text(end, *alone, Transport::rc);
  choice_text(end, end, *pair, Transport::rc);
  for (const PortFacts& port : ports)
    if (port.usable()) not_joined_text({alone, &port}, ports, ports, Transport::rc);
}

template <class Take>
void refuse_or_take(Take&& take) {
  try {
    take();
  } catch (const MeasurementError&) {
  } catch (const UsageError&) {
  }
}

/// Each message of a session reads the same once it is written.
template <class... Messages>
void take_messages(const nlohmann::ordered_json& message) {
  (refuse_or_take([&] {
     const nlohmann::ordered_json once = make_message("", read_message<Messages>(message));
     require(make_message("", read_message<Messages>(once)) == once);
   }),
   ...);
}

}  // namespace
}  // namespace rdmameter

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rdmameter;
  if (size == 0) return 0;
  nlohmann::ordered_json message;
  try {
    message = parse_message({reinterpret_cast<const char*>(data) + 1, size - 1}, "the peer");
  } catch (const ChannelError&) {
    return 0;
  }
  refuse_or_take([&] { take_case(message); });
  take_messages<Hello, ChallengeMessage, Proof, Wanted, EnvironmentMessage, Ports, Prepare, Ready,
                ConnectMessage, WindowSyncMessage, RowMessage, Finish, Done, Failure, ConnectedCase,
                SessionStart>(message);
  refuse_or_take([&] { take_ports(message); });
  refuse_or_take([&] { take_endpoint(message, data[0] % 4U + 1); });
  return 0;
}
