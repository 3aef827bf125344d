// SPDX-License-Identifier: Apache-2.0
#include "core/engine/endpoint_runner.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "core/base/thread.h"
#include "core/engine/account/interval_thread.h"
#include "core/engine/layout/layout.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

/// A UC or UD receiver that does not know the total waits this long after the last arrival.
constexpr std::uint64_t kQuiet_ns = 200'000'000;
/// More than any wait, and sums with it stay far from wrapping around.
constexpr std::uint64_t kEndless = 1ULL << 62;

}  // namespace

EndpointRunner::EndpointRunner(const DeviceCase& test_case, std::uint64_t seed)
    : settled_(test_case),
      seed_(seed),
      latency_(std::make_unique<Histogram>()),
      scratch_(std::make_unique<Histogram>()) {
  tally_.latency = latency_.get();
  tally_.scratch = scratch_.get();
  if (role_ == Role::initiator) over_time_ = make_latency_series(case_);
  tally_.over_time = over_time_.get();
  fill_plan(plan_, case_);
}

LoopResult EndpointRunner::run(Wait wait, const ClockChoice& clock, const StopFlag& stop) {
  const Loop measured = loop(wait, clock.kind);
  if (measured == nullptr) return {};
  has_loop_ = true;
  const std::uint64_t before = thread_cpu_ns();
  const LoopResult end = measured(plan_, clock, stop, tally_);
  cpu_ns_ = thread_cpu_ns() - before;
  place_ = place_now();
  return end;
}

void EndpointRunner::expect(std::uint64_t sent) {
  plan_.expected.store(sent * copies_of(case_), std::memory_order_release);
}

void fill_plan(LoopPlan& plan, const TestCase& test_case) {
  if (test_case.until_interrupted())
    plan.operations = kEndless;
  else if (test_case.duration_ns == 0)
    plan.operations = test_case.iterations;
  plan.duration_ns = test_case.until_interrupted() ? 0 : test_case.duration_ns;
  plan.warmup = test_case.warmup;
  plan.loss_timeout_ns = test_case.loss_timeout_ns;
  plan.quiet_ns = kQuiet_ns;
}

std::string loop_result_text(const LoopResult& end, const std::string& where) {
  switch (end.why) {
    case LoopResult::Why::done:
      return {};
    case LoopResult::Why::stopped:
      return fmt::format("the measured loop on {} was told to stop", where);
    case LoopResult::Why::post_failed:
      // Of some providers it is negative: siw, erdma, cxgb4, bnxt_re (rdma-core, their post_send).
      return fmt::format("posting on {} failed: {}", where, std::strerror(std::abs(end.error)));
    case LoopResult::Why::poll_failed:
      return fmt::format(
          "ibv_poll_cq on {} failed ({}): the completion queue overran or the device is gone",
          where, end.error);
    case LoopResult::Why::completion_failed:
      return wc_failure_text(end.status, fmt::format("QP {:#x} on {}", end.qp_num, where),
                             end.vendor_err);
    case LoopResult::Why::connection_lost:
      return fmt::format("{} was lost: {}", where,
                         end.error == 0 ? "the peer closed it" : std::strerror(end.error));
  }
  return {};
}

}  // namespace rdmameter
