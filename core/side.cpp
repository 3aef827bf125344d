// SPDX-License-Identifier: Apache-2.0
#include "core/side.h"

#include <fmt/format.h>
#include <time.h>

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
      case_(one_case),
      role_(role),
      seed_(seed),
      counters_before_(read_counters(device.port.device, device.port.number)),
      latency_(std::make_unique<Histogram>()),
      scratch_(std::make_unique<Histogram>()),
      endpoint_(device, one_case, role) {
  tally_.latency = latency_.get();
  tally_.scratch = scratch_.get();
  fill_source(endpoint_.source(), endpoint_.layout().source, source_seed(seed_, role_),
              case_.one_sided());
  // A ping-pong's responder answers the first byte that differs from what its target holds.
  poison_target(endpoint_.target());
}

Agreed Side::connect(const EndpointInfo& peer) {
  // The WRs hold the peer's address and key, which the view learns on connecting; the receives must
  // be there before the QP can be reached. So: take over the peer's facts, build, post, connect.
  const Agreed agreed = endpoint_.learn(peer);
  work_ = std::make_unique<Work>(case_, role_, endpoint_.layout(), endpoint_.view());
  work_->post_receives();
  if (case_.shape() == Pattern::ping_pong) work_->traffic().sequence = *work_->traffic().arrival;
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
  const Area& area = endpoint_.layout().target;
  if (area.slots == 0) return std::nullopt;
  const bool ping_pong = case_.shape() == Pattern::ping_pong;
  // Every QP of a bandwidth test is filled to its depth before anything else, and RC delivers it
  // all.
  const std::uint64_t filled = case_.depth / case_.post_list * case_.post_list;
  std::uint64_t least = !case_.reliable() ? 0 : area.qps == 1 ? peer_total : filled;
  return check_target(
      endpoint_.target(), area,
      source_seed(seed_, role_ == Role::initiator ? Role::responder : Role::initiator),
      case_.one_sided(), ping_pong, least);
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
