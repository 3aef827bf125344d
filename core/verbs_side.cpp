// SPDX-License-Identifier: Apache-2.0
#include "core/verbs_side.h"

#include <algorithm>

#include "core/async_events.h"
#include "core/error.h"
#include "core/loop/table.h"
#include "core/session/auth.h"
#include "core/session/fields.h"
#include "core/shares.h"

namespace rdmameter {

VerbsSide::VerbsSide(OpenDevice& device, const Case& one_case, Role role, std::uint64_t seed,
                     CmWatch watch)
    : Side(with_known_sges(at_end(one_case, role), device.limits), role, seed),
      device_(device),
      counters_before_(read_counters(device.port.device, device.port.number)),
      endpoint_(device, case_, role),
      watch_(watch) {
  endpoint_.edit_source([&](std::span<std::byte> bytes) {
    if (case_.atomic())
      std::ranges::fill(bytes, std::byte{0});  // the words that atomics work on
    else
      fill_source(bytes, endpoint_.layout().source, pattern_of(case_, seed_, role_));
  });
  // A ping-pong's responder answers the first byte that differs from what its target holds.
  endpoint_.edit_target(poison_target);
  if (role_ == Role::responder) plan_.warmup *= copies_of(case_);
  if (!both_at_once()) return;
  const CmEnd end = endpoint_.cm_end();
  if (case_.multicast()) {
    group_text_ = case_.group.empty() ? random_group(end.address.family()) : case_.group;
    return;
  }
  cm_ = std::make_unique<CmConnector>(watch);
  if (role_ == Role::initiator) return;
  cm_nonce_ = make_nonce();
  cm_port_ = cm_->listen(end, case_.qps);
}

nlohmann::json VerbsSide::introduction() const {
  nlohmann::json made = {{"endpoint", endpoint_info_to_wire(endpoint_.info())},
                         {"device", device_.port.device},
                         {"port_num", device_.port.number},
                         {"gid_index", device_.gid.index},
                         {"recv_sge", case_.recv_sge}};
  if (case_.multicast()) made["group"] = group_text_;
  if (cm_port_ != 0) {
    made["cm_port"] = cm_port_;
    made["cm_nonce"] = cm_nonce_;
  }
  return made;
}

void VerbsSide::connect(const nlohmann::json& peer) {
  peer_ = endpoint_info_from_wire(
      require_object(peer, "endpoint"),
      static_cast<std::uint32_t>(role_ == Role::initiator ? case_.qps * case_.peers
                                                          : case_.qps / case_.peers));
  // The WRs hold the peer's address and key, which the view learns on connecting; the receives must
  // be there before the QP can be reached. So: take over the peer's facts, build, post, connect.
  agreed_ = endpoint_.learn(peer_);
  if (!both_at_once()) {
    build_work();
    endpoint_.connect(peer_, agreed_);
  } else if (case_.multicast()) {
    if (role_ == Role::initiator) group_text_ = require_string(peer, "group", 64, 1);
  } else if (role_ == Role::initiator) {
    cm_port_ = require_uint_as<std::uint16_t>(peer, "cm_port", 1);
    cm_nonce_ = require_string(peer, "cm_nonce", kNonceChars, kNonceChars);
  }
}

void VerbsSide::establish() {
  if (!both_at_once()) return;
  if (case_.multicast())
    join_group();
  else
    endpoint_.connect_by_cm(*cm_, peer_, agreed_, cm_port_, cm_nonce_);
  build_work();
}

void VerbsSide::join_group() {
  const auto address = IpAddress::parse(group_text_);
  if (!address || !address->multicast())
    throw MeasurementError("the peer's message: `group` is no multicast address");
  const CmEnd end = endpoint_.cm_end_towards(peer_, agreed_);
  group_ = std::make_unique<MulticastGroup>(watch_, end, *address);
  endpoint_.connect_to_group(*group_, end);
}

void VerbsSide::build_work() {
  work_ = std::make_unique<Work>(case_, role_, endpoint_.layout(), endpoint_.view());
  work_->post_receives();
}

void VerbsSide::settle(Case& one_case, const nlohmann::json& peer) const {
  one_case.mtu_bytes = agreed_.mtu_bytes;
  one_case.device = device_.port.device;
  one_case.port_num = device_.port.number;
  one_case.gid_index = device_.gid.index;
  one_case.peer_device = require_string(peer, "device", 64);
  one_case.peer_port_num = require_uint(peer, "port_num", 1, 255);
  one_case.peer_gid_index = require_uint(peer, "gid_index", 0, 255);
  if (one_case.inline_bytes != 0) one_case.inline_bytes = endpoint_.view().inline_bytes;
  one_case.outstanding_reads = agreed_.outstanding_reads;
  one_case.sge = case_.sge;
  one_case.recv_sge = require_uint(peer, "recv_sge", 1, 65535);
  if (one_case.takes_receive()) one_case.recv_post_list = receive_list_length(case_);
}

std::string VerbsSide::take_fatal_event() {
  std::string event = rdmameter::take_fatal_event(*device_.context, device_.port.number);
  return event.empty() && cm_ ? cm_->take_fatal_event() : event;
}

void VerbsSide::expect(const std::vector<std::uint64_t>& sent) {
  Side::expect({sent.front() * copies_of(case_)});
}

Side::Loop VerbsSide::loop(Wait wait, ClockChoice::Kind clock) {
  const MeasuredLoop chosen = choose_loop(case_, role_, wait, clock);
  if (chosen == nullptr) return nullptr;
  return [this, chosen](const LoopPlan& plan, const ClockChoice& choice, const StopWord& stop,
                        LoopTally& tally) {
    if (case_.timestamps == 0 || role_ == Role::responder)
      return chosen(work_->traffic(), plan, choice, stop, tally);
    const ClockPair before = read_both_clocks(*device_.context, choice, where());
    const LoopEnd end = chosen(work_->traffic(), plan, choice, stop, tally);
    const ClockPair after = read_both_clocks(*device_.context, choice, where());
    shares_ = shares_json(work_->moments(), before, after, device_.limits.timestamp_mask, choice);
    return end;
  };
}

std::optional<Verdict> VerbsSide::verify(const std::vector<std::uint64_t>& peer_totals) const {
  const std::uint64_t peer_total = peer_totals.front();
  if (case_.atomic()) return verify_atomics(role_ == Role::initiator ? tally().total : peer_total);
  const Area& area = endpoint_.layout().target;
  if (area.slots == 0) return std::nullopt;
  const bool ping_pong = case_.shape() == Pattern::ping_pong;
  // Every QP of a bandwidth test is filled to its depth before anything else, and RC delivers it
  // all; those of a latency have their turns.
  const std::uint64_t filled = ping_pong || case_.shape() == Pattern::completion_latency
                                   ? peer_total / case_.qps
                                   : case_.depth / case_.post_list * case_.post_list;
  const bool known = case_.reliable() && !(case_.shared_receives() && case_.takes_receive());
  const std::uint64_t least = !known ? 0 : area.qps == 1 ? peer_total : filled;
  const Role sender = role_ == Role::initiator ? Role::responder : Role::initiator;
  // A number in the immediate leaves the payload alone.
  const bool last_is_number =
      ping_pong && (!case_.takes_receive() || (!case_.reliable() && !case_.immediate()));
  const Skip skip{.first = numbers_sent(case_) == NumberPlace::payload ? kNumberBytes : 0,
                  .last = last_is_number ? 1U : 0U};
  Verdict verdict;
  endpoint_.inspect_target([&](std::span<const std::byte> bytes) {
    verdict = check_target(bytes, area, pattern_of(case_, seed_, sender), skip, least);
  });
  return verdict;
}

/// @param total  atomics made, closing ones included
Verdict VerbsSide::verify_atomics(std::uint64_t total) const {
  const bool closed = case_.op() == Opcode::cmp_swap && case_.shape() == Pattern::bandwidth;
  const std::uint64_t made = total - (closed ? case_.qps : 0);
  const std::uint64_t chain = send_chain_length(case_, Role::initiator);
  Verdict verdict;
  if (role_ == Role::initiator)
    endpoint_.inspect_target([&](std::span<const std::byte> bytes) {
      verdict = check_returned(bytes, endpoint_.layout().target, case_.op(), made, chain);
    });
  else
    endpoint_.inspect_source([&](std::span<const std::byte> bytes) {
      verdict = check_words(bytes, endpoint_.layout().source, case_.op(), made, chain);
    });
  return verdict;
}

nlohmann::ordered_json VerbsSide::counters() const {
  return counter_differences(counters_before_,
                             read_counters(device_.port.device, device_.port.number));
}

nlohmann::ordered_json VerbsSide::facts() const {
  auto facts = nlohmann::ordered_json::object();
  if (case_.multicast()) facts["multicast_group"] = group_text_;
  if (!case_.returns_data() && case_.inline_bytes != 0) facts["inlined"] = work_->inlined();
  if (case_.shape() == Pattern::ping_pong && !case_.takes_receive())
    facts["data_in_order"] = endpoint_.data_in_order();
  if (!shares_.is_null()) facts["shares"] = shares_;
  return facts;
}

}  // namespace rdmameter
