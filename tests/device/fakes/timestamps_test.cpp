// SPDX-License-Identifier: Apache-2.0
// Completion timestamps, on a device that gives none: create_cq_ex and query_rt_values of a real
// device's verbs_context are replaced by ones that know a clock of their own, so that real traffic
// is told apart by the code for the real thing. The clock ticks at another rate than the loop's and
// wraps in the middle, and says of each completion that it was there kLate_ns before it is polled.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <thread>

#include "core/base/error.h"
#include "core/engine/verbs_runner.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMask = (1ULL << 40) - 1;
constexpr std::uint64_t kLate_ns = 150;  // rxe completes many in the post: more would be before it
constexpr double kTicksPerNs = 0.15625;  // 156.25 MHz, as adapters have

std::uint64_t begin_ns = 0;
std::uint64_t stamped = 0;
ibv_cq_ex* (*real_create_cq_ex)(ibv_context*, ibv_cq_init_attr_ex*) = nullptr;
int (*real_start_poll)(ibv_cq_ex*, ibv_poll_cq_attr*) = nullptr;
std::uint64_t polled_ns = 0;

/// It wraps half a millisecond after the test's begin.
std::uint64_t device_ticks(std::uint64_t ns) {
  const auto since = static_cast<std::int64_t>(ns) - static_cast<std::int64_t>(begin_ns) - 500'000;
  return static_cast<std::uint64_t>(
             static_cast<std::int64_t>(static_cast<double>(since) * kTicksPerNs)) &
         kMask;
}

int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attributes) {
  const int error = real_start_poll(cq, attributes);
  if (error == 0) polled_ns = KernelClock{}.now();
  return error;
}

std::uint64_t read_completion_ts(ibv_cq_ex*) {
  ++stamped;
  return device_ticks(polled_ns - kLate_ns);
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attributes) {
  ibv_cq_init_attr_ex without = *attributes;
  const bool asked = (without.wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP) != 0;
  without.wc_flags &= ~static_cast<std::uint64_t>(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
  ibv_cq_ex* const result = real_create_cq_ex(context, &without);
  if (result == nullptr || !asked) return result;
  real_start_poll = result->start_poll;
  result->start_poll = start_poll;
  result->read_completion_ts = read_completion_ts;
  return result;
}

int query_rt_values(ibv_context*, ibv_values_ex* values) {
  if (values->comp_mask != IBV_VALUES_MASK_RAW_CLOCK) return EINVAL;
  values->raw_clock.tv_sec = 0;
  values->raw_clock.tv_nsec = static_cast<long>(device_ticks(KernelClock{}.now()));
  return 0;
}

OpenDevice device_with_timestamps() {
  OpenDevice device = open_for_run("", kAuto, kAuto);
  verbs_context* const extended = verbs_get_ctx(device.context.get());
  real_create_cq_ex = extended->create_cq_ex;
  extended->create_cq_ex = create_cq_ex;
  extended->query_rt_values = query_rt_values;
  device.limits.timestamp_mask = kMask;
  begin_ns = KernelClock{}.now();
  stamped = 0;
  return device;
}

/// The initiator's shares of a measurement on this device, and its latency's mean.
struct Told {
  nlohmann::ordered_json shares;
  double mean_ns = 0;
};

Told measure(OpenDevice& device, const TestCase& test_case) {
  VerbsRunner initiator{device, {test_case, device, Role::initiator}, 7},
      responder{device, {test_case, device, Role::responder}, 7};
  responder.connect(initiator.introduction());
  initiator.connect(responder.introduction());
  const ClockChoice clock;  // the kernel's, which the device's is made of
  StopFlag never, stop;
  std::thread other{[&] { responder.run(Wait::yield, clock, stop); }};
  const LoopResult end = initiator.run(Wait::yield, clock, never);
  stop.request(StopReason::finish);
  other.join();
  EXPECT_EQ(loop_result_text(end, "the device"), "");
  const auto latency = initiator.take_latency();
  return {initiator.facts()["shares"], static_cast<double>(latency->sum_ns()) / 400};
}

struct Test {
  const char* name;
  Opcode opcode;
  Pattern pattern;
  Transport transport;
};
constexpr Test kTests[] = {
    {"send_lat", Opcode::send, Pattern::ping_pong, Transport::rc},
    {"send_lat_ud", Opcode::send, Pattern::ping_pong, Transport::ud},
    {"send_imm_lat_uc", Opcode::send_imm, Pattern::ping_pong, Transport::uc},
    {"write_imm_lat", Opcode::write_imm, Pattern::ping_pong, Transport::rc},
    {"write_cqe_lat", Opcode::rdma_write, Pattern::completion_latency, Transport::rc},
    {"read_lat", Opcode::rdma_read, Pattern::completion_latency, Transport::rc},
    {"fetch_add_lat", Opcode::fetch_add, Pattern::completion_latency, Transport::rc},
};

class Timestamps : public ::testing::TestWithParam<Test> {};

TEST_P(Timestamps, TellPostWireAndPollApart) {
  for (const char* sharing : {"shared", "per-qp"}) {
    OpenDevice device = device_with_timestamps();
    TestCase test_case = default_case(GetParam().opcode, GetParam().pattern);
    test_case.transport = GetParam().transport;
    test_case.queues.cq = Interface::extended;
    test_case.queues.timestamps = true;
    test_case.qps = 2;
    set_axis(test_case, *find_axis("cq-sharing"), sharing);
    test_case.iterations = 400;
    test_case.warmup = 10;
    test_case.loss_timeout_ns = 5'000'000'000;
    ASSERT_EQ(why_impossible(test_case), "");
    const Told told = measure(device, test_case);
    EXPECT_EQ(told.shares["samples"], 400U);
    EXPECT_GE(stamped, 410U);
    const auto mean = [&](const char* share) { return told.shares[share]["mean"].get<double>(); };
    // What the poll's share holds beside the time that the clock says: the polling itself.
    EXPECT_GE(
        told.shares["poll"]["min"].get<double>() + told.shares["clock_error_ns"].get<double>() + 20,
        static_cast<double>(kLate_ns))
        << told.shares;
    EXPECT_GT(mean("post"), 0);
    // It is a small part, however long a poll takes on this machine.
    EXPECT_LT(told.shares["poll"]["p50"].get<double>(), 0.5 * told.mean_ns) << told.shares;
    EXPECT_NEAR(mean("post") + mean("wire") + mean("poll"), told.mean_ns, 0.02 * told.mean_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(Tests, Timestamps, ::testing::ValuesIn(kTests),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(TimestampLimits, ADeviceWithoutThemIsUnsupported) {
  OpenDevice device = device_with_timestamps();
  device.limits.timestamp_mask = 0;
  TestCase test_case = default_case(Opcode::rdma_read, Pattern::completion_latency);
  test_case.queues.cq = Interface::extended;
  test_case.queues.timestamps = true;
  EXPECT_THROW((VerbsRunner{device, {test_case, device, Role::initiator}, 7}), Unsupported);
}

}  // namespace
}  // namespace rdmameter
