// SPDX-License-Identifier: Apache-2.0
#include "core/session/end_choice.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/session/message_exchange.h"
#include "core/session/messages.h"

namespace rdmameter {
namespace {

const EndSettings kAnyPort{
    .device = {}, .port_num = kAuto, .gid_index = kAuto, .core = {}, .memory = {}};

std::vector<PortFacts> ask_ports(Channel& channel, const EndSettings& wanted) {
  MessageExchange messages{channel};
  messages.send(make_message("list_ports", wanted_of(wanted)));
  return messages.expect<Ports>("ports").value;
}

/// The first device that an end names and no pair has; empty: there is none.
std::string left_out(const EndPorts& end, const std::vector<PortPair>& pairs,
                     const PortFacts* PortPair::*port) {
  if (!end.names_devices()) return {};
  for (const std::string& name : split_devices(end.fixed.device))
    if (std::ranges::none_of(pairs, [&](const auto& pair) { return (pair.*port)->device == name; }))
      return name;
  return {};
}

/// Gives an end its devices, and their port where all have the same.
void take(EndSettings& end, const std::vector<PortPair>& pairs, const PortFacts* PortPair::*port) {
  end.device.clear();
  end.port_num = (pairs.front().*port)->number;
  for (const PortPair& pair : pairs) {
    if (!end.device.empty()) end.device += kDeviceSeparator;
    end.device += (pair.*port)->device;
    if ((pair.*port)->number != end.port_num) end.port_num = kAuto;
  }
}

}  // namespace

const std::vector<PortFacts>& EndChoice::mine(const std::string& device, std::uint64_t gid_index) {
  const auto [list, is_new] = mine_.try_emplace({device, gid_index});
  if (is_new) list->second = list_ports(device, gid_index);
  return list->second;
}

const std::vector<PortFacts>& EndChoice::theirs(const EndSettings& wanted, Channel& channel) {
  const auto key = std::pair(wanted.device, wanted.gid_index);
  if (const auto known = theirs_.find(key); known != theirs_.end()) return known->second;
  EndSettings asked = wanted;
  asked.port_num = kAuto;                                 // a list for all cases
  if (asked.device == kAllDevices) asked.device.clear();  // or the server's own
  return theirs_.emplace(key, ask_ports(channel, asked)).first->second;
}

bool EndChoice::usable_here(const EndSettings& mine_fixed, Transport transport) {
  return std::ranges::all_of(split_devices(mine_fixed.device), [&](const std::string& device) {
    EndSettings one = mine_fixed;
    one.device = device;
    return choose_port({mine(device, one.gid_index), one}, transport) != nullptr;
  });
}

void EndChoice::require_joinable(const EndPorts& here, const EndPorts& there, Transport transport,
                                 Channel& channel) {
  const PortPair alone{choose_port(here, transport), choose_port(there, transport)};
  if (alone.mine == nullptr || alone.theirs == nullptr) return;
  // A GID that the user has named keeps the ends apart: reported when they connect.
  const bool gid_is_fixed = here.fixed.gid_index != kAuto || there.fixed.gid_index != kAuto;
  if (gid_is_fixed && kind_name(*alone.mine) == kind_name(*alone.theirs)) return;
  const std::string why =
      not_joined_text(alone, mine("", kAuto), theirs(kAnyPort, channel), transport);
  if (!why.empty()) throw Unsupported(why);
}

void EndChoice::tell(std::string line) {
  if (listener_ && !line.empty() && line != told_) listener_(line);
  told_ = std::move(line);
}

/// A pair of ports for each pair of devices. Tells what was passed over, and why none can be joined.
/// @return  none: whoever opens the devices says why
std::vector<PortPair> EndChoice::choose(const TestCase& test_case, Channel& channel) {
  const EndSettings &initiator = test_case.initiator, &responder = test_case.responder;
  const bool several = names_several(initiator) || names_several(responder);
  const EndPorts here{mine(initiator.device, initiator.gid_index), initiator};
  if (!several && choose_port(here, test_case.transport) == nullptr) return {};
  const EndPorts there{theirs(responder, channel), responder};
  if (several) return choose_several(here, there, test_case.transport);
  const auto pair = choose_port_pair(here, there, test_case.transport);
  if (!pair) {
    require_joinable(here, there, test_case.transport, channel);
    return {};
  }
  tell(choice_text(here, there, *pair, test_case.transport));
  return {*pair};
}

std::vector<PortPair> EndChoice::choose_several(const EndPorts& here, const EndPorts& there,
                                                Transport transport) {
  std::vector<PortPair> pairs = choose_port_pairs(here, there, transport);
  const std::string lone = left_out(here, pairs, &PortPair::mine),
                    their_lone = left_out(there, pairs, &PortPair::theirs);
  if (!lone.empty() || !their_lone.empty())
    throw MeasurementError(
        "{} and {} cannot be joined: is a port of each ACTIVE with a GID, and of one kind? See: "
        "rdmameter devices",
        lone.empty() ? "what is left of the devices here" : lone,
        their_lone.empty() ? "what is left of the peer's devices" : "the peer's " + their_lone);
  if (pairs.empty())
    throw MeasurementError("no device reaches one of the peer's devices: rdmameter devices");
  if (!here.names_devices() && !there.names_devices()) tell(left_out_text(here, pairs, transport));
  return pairs;
}

TestCase EndChoice::settled(TestCase test_case, Channel& channel) {
  if (test_case.over_tcp()) return test_case;
  const auto fixed = [](const EndSettings& end) {
    return Fixed{end.device, end.port_num, end.gid_index};
  };
  const std::tuple key{fixed(test_case.initiator), fixed(test_case.responder), test_case.transport};
  auto known = made_.find(key);
  if (known == made_.end()) {
    std::vector<PortPair> pairs = choose(test_case, channel);
    if (pairs.empty()) return test_case;
    known = made_.emplace(key, std::move(pairs)).first;
  }
  take(test_case.initiator, known->second, &PortPair::mine);
  take(test_case.responder, known->second, &PortPair::theirs);
  return test_case;
}

EndSettings with_own_end(EndSettings asked, const std::optional<OwnEnd>& own) {
  if (!own) return asked;
  if (asked.core.empty()) asked.core = own->core;
  if (!asked.device.empty() && asked.device != own->device) return asked;
  asked.device = own->device;
  if (asked.port_num == kAuto) asked.port_num = own->port_num;
  if (asked.gid_index == kAuto) asked.gid_index = own->gid_index;
  return asked;
}

TestCase with_own_end(TestCase asked, const std::optional<OwnEnd>& own) {
  asked.responder = with_own_end(std::move(asked.responder), own);
  if (!own || own->memory.empty()) return asked;
  if (asked.responder.memory != own->memory)
    throw Unsupported("this server measures in the memory of {0} alone: use --peer-memory {0}",
                      own->memory);
  asked.registration.gpu = own->gpu_registration;
  return asked;
}

void answer_list_ports(Channel& channel, const EndSettings& wanted) {
  std::vector<PortFacts> ports = list_ports(wanted.device, wanted.gid_index);
  std::erase_if(ports, [&](const PortFacts& port) {
    return wanted.port_num != kAuto && port.number != wanted.port_num;
  });
  channel.send(make_message("ports", Ports{ports_to_tell(std::move(ports))}),
               Deadline::in(kSetupTimeout));
}

}  // namespace rdmameter
