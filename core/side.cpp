// SPDX-License-Identifier: Apache-2.0
#include "core/side.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "core/affinity.h"
#include "core/wc_status.h"

namespace rdmameter {
namespace {

/// A UC or UD receiver that does not know the total waits this long after the last arrival.
constexpr std::uint64_t kQuiet_ns = 200'000'000;

std::uint64_t thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

Side::Side(OpenDevice& device, const Case& one_case, Role role, std::uint64_t seed)
    : device_(device),
      case_(with_known_sges(one_case, device.limits)),
      role_(role),
      seed_(seed),
      counters_before_(read_counters(device.port.device, device.port.number)),
      latency_(std::make_unique<Histogram>()),
      scratch_(std::make_unique<Histogram>()),
      endpoint_(device, one_case, role) {
  tally_.latency = latency_.get();
  tally_.scratch = scratch_.get();
  endpoint_.edit_source([&](std::span<std::byte> bytes) {
    if (case_.atomic())
      std::ranges::fill(bytes, std::byte{0});  // the words that atomics work on
    else
      fill_source(bytes, endpoint_.layout().source, pattern_of(case_, seed_, role_));
  });
  // A ping-pong's responder answers the first byte that differs from what its target holds.
  endpoint_.edit_target(poison_target);
}

Agreed Side::connect(const EndpointInfo& peer) {
  // The WRs hold the peer's address and key, which the view learns on connecting; the receives must
  // be there before the QP can be reached. So: take over the peer's facts, build, post, connect.
  const Agreed agreed = endpoint_.learn(peer);
  work_ = std::make_unique<Work>(case_, role_, endpoint_.layout(), endpoint_.view());
  work_->post_receives();
  endpoint_.connect(peer, agreed);
  return agreed;
}

LoopEnd Side::run(const LoopPlan& plan, Wait wait, std::uint64_t core, const ClockChoice& clock,
                  const StopWord& stop) {
  const MeasuredLoop loop = choose_loop(case_, role_, wait, clock.kind);
  if (loop == nullptr) return {};
  has_loop_ = true;
  const Pinned pinned{core, role_ == Role::initiator ? "--core" : "--peer-core"};
  const std::uint64_t before = thread_cpu_ns();
  const LoopEnd end = loop(work_->traffic(), plan, clock, stop, tally_);
  cpu_ns_ = thread_cpu_ns() - before;
  return end;
}

std::optional<Verdict> Side::verify(std::uint64_t peer_total) const {
  if (case_.atomic()) return verify_atomics(role_ == Role::initiator ? tally_.total : peer_total);
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
  const bool numbered =
      ping_pong && (!case_.takes_receive() || (!case_.reliable() && !case_.immediate()));
  Verdict verdict;
  endpoint_.inspect_target([&](std::span<const std::byte> bytes) {
    verdict = check_target(bytes, area, pattern_of(case_, seed_, sender), numbered, least);
  });
  return verdict;
}

/// @param total  atomics made, closing ones included
Verdict Side::verify_atomics(std::uint64_t total) const {
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

nlohmann::ordered_json Side::counters() const {
  return counter_differences(counters_before_,
                             read_counters(device_.port.device, device_.port.number));
}

void fill_plan(LoopPlan& plan, const Case& one_case) {
  if (one_case.duration_ns == 0) plan.operations = one_case.iterations;
  plan.duration_ns = one_case.duration_ns;
  plan.warmup = one_case.warmup;
  plan.loss_timeout_ns = one_case.loss_timeout_ns;
  plan.quiet_ns = kQuiet_ns;
}

std::string loop_end_text(const LoopEnd& end, const std::string& where) {
  switch (end.why) {
    case LoopEnd::Why::done:
      return {};
    case LoopEnd::Why::stopped:
      return fmt::format("the measured loop on {} was told to stop", where);
    case LoopEnd::Why::post_failed:
      return fmt::format("posting on {} failed: {}", where, std::strerror(end.error));
    case LoopEnd::Why::poll_failed:
      return fmt::format(
          "ibv_poll_cq on {} failed ({}): the completion queue overran or the device is gone",
          where, end.error);
    case LoopEnd::Why::completion_failed:
      return wc_failure_text(end.status, fmt::format("QP {:#x} on {}", end.qp_num, where),
                             end.vendor_err);
  }
  return {};
}

}  // namespace rdmameter
