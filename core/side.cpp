// SPDX-License-Identifier: Apache-2.0
#include "core/side.h"

#include <fmt/format.h>

#include <cstring>

#include "core/affinity.h"
#include "core/cpu_time.h"
#include "core/wc_status.h"

namespace rdmameter {
namespace {

/// A UC or UD receiver that does not know the total waits this long after the last arrival.
constexpr std::uint64_t kQuiet_ns = 200'000'000;
/// More than anybody waits for, and sums with it stay far from wrapping around.
constexpr std::uint64_t kEndless = 1ULL << 62;

}  // namespace

Side::Side(const Case& one_case, Role role, std::uint64_t seed)
    : case_(one_case),
      role_(role),
      seed_(seed),
      latency_(std::make_unique<Histogram>()),
      scratch_(std::make_unique<Histogram>()) {
  tally_.latency = latency_.get();
  tally_.scratch = scratch_.get();
  fill_plan(plan_, case_);
}

LoopEnd Side::run(Wait wait, std::uint64_t core, const ClockChoice& clock, StopWord& stop) {
  const Loop measured = loop(wait, clock.kind);
  if (measured == nullptr) return {};
  has_loop_ = true;
  const Pinned pinned{core, role_ == Role::initiator ? "--core" : "--peer-core"};
  const std::uint64_t before = thread_cpu_ns();
  const LoopEnd end = measured(plan_, clock, stop, tally_);
  cpu_ns_ = thread_cpu_ns() - before;
  return end;
}

void Side::expect(const std::vector<std::uint64_t>& sent) {
  plan_.expected.store(sent.front(), std::memory_order_release);
}

void fill_plan(LoopPlan& plan, const Case& one_case) {
  if (one_case.until_interrupted())
    plan.operations = kEndless;
  else if (one_case.duration_ns == 0)
    plan.operations = one_case.iterations;
  plan.until_interrupted = one_case.until_interrupted();
  plan.duration_ns = one_case.until_interrupted() ? 0 : one_case.duration_ns;
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
    case LoopEnd::Why::connection_lost:
      return fmt::format("{} was lost: {}", where,
                         end.error == 0 ? "the peer closed it" : std::strerror(end.error));
  }
  return {};
}

}  // namespace rdmameter
