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
  return messages.expect<Ports>("ports").ports;
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
  asked.port_num = kAuto;  // a list for all cases
  return theirs_.emplace(key, ask_ports(channel, asked)).first->second;
}

bool EndChoice::usable_here(const EndSettings& mine_fixed, Transport transport) {
  return choose_port({mine(mine_fixed.device, mine_fixed.gid_index), mine_fixed}, transport) !=
         nullptr;
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

TestCase EndChoice::settled(TestCase test_case, Channel& channel) {
  const EndSettings initiator = test_case.initiator, responder = test_case.responder;
  const auto settle = [](EndSettings& end, const Taken& taken) {
    end.device = taken.device;
    end.port_num = taken.port_num;
  };
  const auto fixed = [](const EndSettings& end) {
    return Fixed{end.device, end.port_num, end.gid_index};
  };
  const std::tuple key{fixed(initiator), fixed(responder), test_case.transport};
  if (const auto known = made_.find(key); known != made_.end()) {
    settle(test_case.initiator, known->second.first);
    settle(test_case.responder, known->second.second);
    return test_case;
  }
  const EndPorts here{mine(initiator.device, initiator.gid_index), initiator};
  if (choose_port(here, test_case.transport) == nullptr) return test_case;
  const EndPorts there{theirs(responder, channel), responder};
  const auto pair = choose_port_pair(here, there, test_case.transport);
  if (!pair) {
    require_joinable(here, there, test_case.transport, channel);
    return test_case;
  }
  const auto taken = [](const PortFacts& port) { return Taken{port.device, port.number}; };
  const auto& [mine_taken, theirs_taken] =
      made_.emplace(key, std::pair(taken(*pair->mine), taken(*pair->theirs))).first->second;
  settle(test_case.initiator, mine_taken);
  settle(test_case.responder, theirs_taken);
  std::string line = choice_text(here, there, *pair, test_case.transport);
  if (listener_ && !line.empty() && line != told_) listener_(line);
  told_ = std::move(line);
  return test_case;
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
