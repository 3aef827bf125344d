// SPDX-License-Identifier: Apache-2.0
// A mix of requests: how its parts are drawn, and the open loop of a mix on a virtual clock, in
// front of a server that takes longer for one part than for the other.
#include "core/test_case/mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/engine/verbs_runner.h"
#include "virtual_server.h"

namespace rdmameter {
namespace {

constexpr std::array<double, 2> kShare = {0.7, 0.3};
constexpr std::array<std::uint64_t, 2> kPartService_ns = {kService_ns / 2, 3 * kService_ns};

/// Of the two parts a mean service of 1.25 kService_ns.
TestCase mix_case(double utilisation, std::uint64_t requests, std::uint64_t depth) {
  const double mean_ns = kShare[0] * static_cast<double>(kPartService_ns[0]) +
                         kShare[1] * static_cast<double>(kPartService_ns[1]);
  TestCase test_case = load_case(utilisation, requests, depth);
  test_case.opcode = Opcode::mix;
  test_case.mix = "read:70+write:30";
  test_case.rate = static_cast<std::uint64_t>(std::llround(utilisation * 1e9 / mean_ns));
  return test_case;
}

TEST(Mix, IsDrawnWithItsWeights) {
  TestCase test_case = mix_case(0.5, 1'000'000, 1);
  test_case.mix = "read:4096:50+read:64:20+write:8:29+write:1";
  const std::array<double, 4> shares = {0.5, 0.2, 0.29, 0.01};
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::array<double, 4> drawn{};
    const auto parts = draw_parts(test_case, seed);
    for (const std::uint8_t part : parts) ++drawn.at(part);
    const auto n = static_cast<double>(parts.size());
    for (std::size_t p = 0; p < shares.size(); ++p)  // 4 standard deviations of a binomial one
      EXPECT_NEAR(drawn[p], n * shares[p], 4 * std::sqrt(n * shares[p] * (1 - shares[p]))) << p;
  }
}

TEST(Mix, OfOneSeedIsDrawnOnceAndOfAnotherAnew) {
  const TestCase test_case = mix_case(0.5, 1000, 1);
  EXPECT_EQ(draw_parts(test_case, 1), draw_parts(test_case, 1));
  EXPECT_NE(draw_parts(test_case, 1), draw_parts(test_case, 2));
}

struct MixRun : VirtualRun {
  explicit MixRun(const TestCase& new_case) : VirtualRun(new_case) {
    server.part_service_ns.assign(kPartService_ns.begin(), kPartService_ns.end());
  }
};

/// What waits is what waited, and the service before, less the time until the next one came.
double lindley_mean_ns(const VirtualRun& load) {
  const auto drawn = draw_parts(load.test_case, 1);
  std::uint64_t wait_ns = 0, sum_ns = kPartService_ns[drawn[0]];
  for (std::size_t i = 1; i < drawn.size(); ++i) {
    const std::uint64_t ahead_ns = wait_ns + kPartService_ns[drawn[i - 1]];
    wait_ns = ahead_ns > load.gaps_ns[i] ? ahead_ns - load.gaps_ns[i] : 0;
    sum_ns += wait_ns + kPartService_ns[drawn[i]];
  }
  return static_cast<double>(sum_ns) / static_cast<double>(drawn.size());
}

class MixLoad : public ::testing::TestWithParam<double> {};

TEST_P(MixLoad, GivesTheResponsesOfLindleysRecursionWhereverRequestsWait) {
  for (const std::uint64_t depth : {1, 8, 4096})
    for (const std::uint64_t qps : {1, 3}) {
      TestCase test_case = mix_case(GetParam(), 100'000, depth);
      test_case.qps = qps;
      MixRun load{test_case};
      ASSERT_EQ(load.run().why, LoopResult::Why::done);
      const double expected = lindley_mean_ns(load);
      EXPECT_NEAR(load.mean_ns(), expected, 0.001 * expected) << depth << " x " << qps;
    }
}

/// M/G/1: Pollaczek and Khinchine.
TEST_P(MixLoad, GivesTheMeanResponseOfMG1OverAMillionRequests) {
  const double rho = GetParam();
  double mean = 0, square = 0;
  for (std::size_t p = 0; p < kShare.size(); ++p) {
    const auto service = static_cast<double>(kPartService_ns[p]);
    mean += kShare[p] * service;
    square += kShare[p] * service * service;
  }
  MixRun load{mix_case(rho, 1'000'000, 1)};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const double expected_ns = mean + rho / mean * square / (2 * (1 - rho));
  EXPECT_NEAR(load.mean_ns(), expected_ns, 0.04 * expected_ns);
}

INSTANTIATE_TEST_SUITE_P(OpenLoop, MixLoad, ::testing::Values(0.5, 0.8, 0.9));

TEST(Mix, EachPartHasItsOwnServicesAndTogetherTheyAreAll) {
  TestCase test_case = mix_case(0.5, 10'000, 1);
  test_case.warmup = 1000;
  MixRun load{test_case};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const LoadData data = load.offered.result();
  ASSERT_EQ(data.mix.size(), 2U);
  std::uint64_t due = 0, completed = 0, response_ns = 0, lateness_ns = 0;
  double offered = 0, reached = 0;
  for (std::size_t p = 0; p < 2; ++p) {
    const LoadPart& part = data.mix[p];
    EXPECT_EQ(part.service.histogram.min_ns, kPartService_ns[p]);
    EXPECT_EQ(part.service.histogram.max_ns, kPartService_ns[p]);
    EXPECT_EQ(part.due, part.completed);
    EXPECT_EQ(part.response.histogram.count, part.completed);
    due += part.due;
    completed += part.completed;
    response_ns += part.response.histogram.sum_ns;
    lateness_ns += part.lateness.histogram.sum_ns;
    offered += part.offered_per_s;
    reached += part.reached_per_s;
  }
  EXPECT_EQ(data.mix[0].operation, "read");
  EXPECT_EQ(data.mix[1].operation, "write");
  EXPECT_EQ(due, data.due);
  EXPECT_EQ(completed, data.completed);
  EXPECT_EQ(response_ns, load.response->sum_ns());
  EXPECT_EQ(lateness_ns, data.lateness.histogram.sum_ns);
  EXPECT_NEAR(offered, 1e9 * 10'000 / static_cast<double>(data.window_ns), 1e-6 * offered);
  EXPECT_NEAR(reached, 1e9 * 10'000 / static_cast<double>(data.completing_ns), 1e-6 * reached);
}

/// An end's memory, and the way from one end's to the other's without a device.
struct MixMemory {
  MixMemory(const TestCase& new_case, Role role)
      : layout(layout_of(new_case, role)),
        bytes(layout.target.total_bytes()),
        end{new_case, layout, role, 7} {
    poison_target(bytes);
    fill_mix(bytes, end, {});
  }
  Verdict check(std::uint64_t total) const { return check_mix(bytes, end, total, {}); }

  Layout layout;
  std::vector<std::byte> bytes;
  MixEnd end;
};

void copy_slot(const MixMemory& from, const Area& source, MixMemory& to, const Area& target,
               std::uint64_t qp, std::uint64_t slot) {
  const auto* begin = &from.bytes[source.payload(qp, slot % source.slots)];
  std::copy(begin, begin + source.payload_bytes, &to.bytes[target.payload(qp, slot)]);
}

/// As if all slots had been used.
void carry(MixMemory& initiator, MixMemory& responder) {
  for (std::size_t p = 0; p < initiator.layout.parts.size(); ++p) {
    const Layout &near = initiator.layout.parts[p], &far = responder.layout.parts[p];
    for (std::uint64_t qp = 0; qp < far.target.qps; ++qp)
      for (std::uint64_t slot = 0; slot < far.target.slots; ++slot)
        copy_slot(initiator, near.source, responder, far.target, qp, slot);
    for (std::uint64_t qp = 0; qp < near.target.qps; ++qp)
      for (std::uint64_t slot = 0; slot < near.target.slots; ++slot)
        copy_slot(responder, far.source, initiator, near.target, qp, slot);
  }
}

class MixVerify : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(MixVerify, FindsWhatIsNotItsPartsAndNothingElse) {
  constexpr std::uint64_t kTotal = 1'000'000;
  TestCase test_case = mix_case(0.5, 1000, 16);
  test_case.qps = GetParam();
  test_case.queues.rx_depth = 32;
  test_case.mix = "read:4096:1+read:64:1+write:100:1+send:3000:1";
  MixMemory initiator{test_case, Role::initiator}, responder{test_case, Role::responder};
  if (GetParam() == 1) {
    EXPECT_GT(initiator.check(kTotal).missing_bytes, 0U) << "nothing has arrived";
  }
  carry(initiator, responder);
  for (const MixMemory* end : {&initiator, &responder}) {
    const Verdict verdict = end->check(kTotal);
    EXPECT_GT(verdict.checked_bytes, 1000U * GetParam());
    EXPECT_EQ(verdict.wrong_bytes + verdict.missing_bytes + verdict.guard_bytes_hit, 0U)
        << verdict.first_fault;
  }
  // A read of the one size that brought what is the other's.
  const std::uint64_t qp = GetParam() - 1;
  Area small = responder.layout.parts[0].source;
  small.payload_bytes = 64;
  copy_slot(responder, small, initiator, initiator.layout.parts[1].target, qp, 3);
  EXPECT_GT(initiator.check(kTotal).wrong_bytes, 50U);
  EXPECT_TRUE(initiator.check(kTotal).first_fault.starts_with("read of 64 bytes: wrong data"));
  // A write that went on beyond its end.
  const Area& written = responder.layout.parts[2].target;
  responder.bytes[written.payload(qp, 0) + written.payload_bytes] = std::byte{1};
  EXPECT_EQ(responder.check(kTotal).guard_bytes_hit, 1U);
}

TEST_P(MixVerify, FindsAnAtomicThatWasNotMade) {
  TestCase test_case = mix_case(0.5, 1000, 16);
  test_case.qps = GetParam();
  test_case.mix = "fetch_add:1+write:1";
  MixMemory responder{test_case, Role::responder};
  const std::uint64_t made = count_parts(draw_parts(test_case, 7), 2, 0, 10)[0];
  ASSERT_GT(made, 0U);
  test_case.qps = 1;  // the others make none
  std::memcpy(&responder.bytes[responder.layout.parts[0].source.payload(0, 0)], &made, sizeof made);
  EXPECT_EQ(responder.check(10).first_fault.find("additions"), std::string::npos);
  EXPECT_NE(responder.check(100).first_fault.find("additions made"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Qps, MixVerify, ::testing::Values(1, 3));

TEST(Mix, LeavesEachPartItsShareOfAQpsMemory) {
  TestCase test_case = mix_case(0.5, 1000, 128);
  test_case.qps = 2;
  test_case.mix = "read:65536:1+write:65536:1+send:65536:1+cmp_swap:1";
  for (const Role role : {Role::initiator, Role::responder}) {
    const Layout layout = layout_of(test_case, role);
    EXPECT_LE(layout.target.stride_bytes, 2U << 20);
    std::uint64_t end = 0;  // of the area before
    for (const Layout& part : layout.parts)
      for (const Area* area : {&part.source, &part.target}) {
        if (area->slots == 0) continue;
        EXPECT_GE(area->slot(0, 0), end);
        EXPECT_EQ(area->slot(0, 0) % (area->stride_bytes % 4096 == 0 ? 4096 : 64), 0U);
        EXPECT_EQ(area->slot(1, 0) - area->slot(0, 0), layout.target.stride_bytes);
        end = area->slot(0, area->slots);
      }
    EXPECT_LE(end, layout.target.stride_bytes);
  }
}

TEST(Mix, IsReadAsPeopleTypeItAndWrittenInOneSpelling) {
  const auto parts = parse_mix("read:4K:50,read:64:20+write:30");
  ASSERT_TRUE(parts);
  EXPECT_EQ(*parts, (std::vector<MixPart>{{Opcode::rdma_read, 4096, 50},
                                          {Opcode::rdma_read, 64, 20},
                                          {Opcode::rdma_write, 0, 30}}));
  EXPECT_EQ(mix_text(*parts), "read:4096:50+read:64:20+write:30");
  EXPECT_TRUE(parse_mix("send:4K:5,fetch_add:3,cmp_swap:2"));
  for (const char* text :
       {"", "read", "read:", "send:1,send:64:1", "fetch_add:8:5", "cmp_swap:1,cmp_swap:2",
        "send_imm:1", "read:0", "read:0:5", "erase:5", "read:5,", ",read:5", "read:5,read:6",
        "read:1:2:3", "read:-1", "read:1000001", "read:4G:1"})
    EXPECT_FALSE(parse_mix(text)) << text;
}

}  // namespace
}  // namespace rdmameter
