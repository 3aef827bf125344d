// SPDX-License-Identifier: Apache-2.0
// Device memory, on a device that has none: alloc_dm, free_dm and reg_dm_mr of a real device's
// verbs_context are replaced by ones on host memory that the CPU is kept from (its pages are open
// to ibv_memcpy_to_dm and _from_dm alone), so that real data moves by the code for the real thing.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "core/base/error.h"
#include "core/engine/verbs_runner.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20;
std::size_t allocated = 0, registered = 0, freed = 0;

struct FakeMemory {
  ibv_dm dm{};  // what verbs.h knows comes first
  std::byte* bytes = nullptr;
  std::size_t size = 0;
};

FakeMemory& fake(ibv_dm* dm) {
  return *reinterpret_cast<FakeMemory*>(dm);
}

int copy_in(ibv_dm* dm, std::uint64_t offset, const void* from, std::size_t length) {
  if (offset % 4 != 0 || length % 4 != 0 || offset + length > fake(dm).size) return EINVAL;
  std::memcpy(fake(dm).bytes + offset, from, length);
  return 0;
}

int copy_out(void* to, ibv_dm* dm, std::uint64_t offset, std::size_t length) {
  if (offset % 4 != 0 || length % 4 != 0 || offset + length > fake(dm).size) return EINVAL;
  std::memcpy(to, fake(dm).bytes + offset, length);
  return 0;
}

ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attributes) {
  if (attributes->length > kMaxBytes) return errno = ENOMEM, nullptr;
  auto* const result = new FakeMemory;
  result->dm.context = context;
  result->dm.memcpy_to_dm = copy_in;
  result->dm.memcpy_from_dm = copy_out;
  result->size = attributes->length;
  result->bytes = static_cast<std::byte*>(
      mmap(nullptr, result->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  std::memset(result->bytes, 0, result->size);
  ++allocated;
  return &result->dm;
}

int free_dm(ibv_dm* dm) {
  munmap(fake(dm).bytes, fake(dm).size);
  delete &fake(dm);
  ++freed;
  return 0;
}

ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned access) {
  if ((access & IBV_ACCESS_ZERO_BASED) == 0) return errno = EINVAL, nullptr;
  ++registered;
  return ibv_reg_mr_iova(pd, fake(dm).bytes + offset, length, 0,
                         static_cast<int>(access & ~static_cast<unsigned>(IBV_ACCESS_ZERO_BASED)));
}

OpenDevice device_with_memory() {
  OpenDevice device = open_for_run("", kAuto, kAuto);
  verbs_context* const extended = verbs_get_ctx(device.context.get());
  extended->alloc_dm = alloc_dm;
  extended->free_dm = free_dm;
  extended->reg_dm_mr = reg_dm_mr;
  device.limits.max_dm_size_bytes = kMaxBytes;
  return device;
}

/// What both ends found of each other's data.
struct Checked {
  std::uint64_t bytes = 0, bad_bytes = 0;
};

Checked measure(OpenDevice& device, const TestCase& test_case) {
  VerbsRunner initiator{device, {test_case, device, Role::initiator}, 7},
      responder{device, {test_case, device, Role::responder}, 7};
  responder.connect(initiator.introduction());
  initiator.connect(responder.introduction());
  const ClockChoice clock = choose_clock();
  StopFlag never, stop;
  std::thread other{[&] { responder.run(Wait::yield, clock, stop); }};
  const LoopResult end = initiator.run(Wait::yield, clock, never);
  const std::uint64_t sent = initiator.tally().total;
  responder.expect(sent);
  stop.request(StopReason::finish);
  other.join();
  EXPECT_EQ(loop_result_text(end, "the device"), "");
  Checked checked;
  const auto add = [&](const std::optional<Verdict>& verdict) {
    if (!verdict) return;
    checked.bytes += verdict->checked_bytes;
    checked.bad_bytes += verdict->wrong_bytes + verdict->missing_bytes + verdict->guard_bytes_hit;
    EXPECT_EQ(verdict->first_fault, "");
  };
  add(initiator.verify(test_case.returns_data() ? sent : responder.tally().total));
  add(responder.verify(responder.has_loop() ? responder.tally().total : sent));
  return checked;
}

struct Test {
  const char* name;
  Opcode opcode;
  Pattern pattern;
};
constexpr Test kTests[] = {
    {"send_lat", Opcode::send, Pattern::ping_pong},
    {"send_bw", Opcode::send, Pattern::bandwidth},
    {"send_imm_lat", Opcode::send_imm, Pattern::ping_pong},
    {"write_imm_lat", Opcode::write_imm, Pattern::ping_pong},
    {"write_cqe_lat", Opcode::rdma_write, Pattern::completion_latency},
    {"write_bw", Opcode::rdma_write, Pattern::bandwidth},
    {"write_imm_bw", Opcode::write_imm, Pattern::bandwidth},
    {"read_lat", Opcode::rdma_read, Pattern::completion_latency},
    {"read_bw", Opcode::rdma_read, Pattern::bandwidth},
    {"fetch_add_bw", Opcode::fetch_add, Pattern::bandwidth},
    {"cmp_swap_lat", Opcode::cmp_swap, Pattern::completion_latency},
};

class DeviceMemory : public ::testing::TestWithParam<Test> {};

TEST_P(DeviceMemory, CarriesRealDataAtEitherEndAndAtBoth) {
  OpenDevice device = device_with_memory();
  for (const auto& [mine, peers] :
       {std::pair{"device", ""}, {"", "device"}, {"device", "device"}}) {
    for (const char* per_qp : {"off", "on"}) {
      TestCase test_case = default_case(GetParam().opcode, GetParam().pattern);
      test_case.initiator.memory = mine;
      test_case.responder.memory = peers;
      test_case.qps = 2;
      test_case.queues.sge = test_case.atomic() ? 1 : 3;
      if (!test_case.atomic()) test_case.size_bytes = 1000;
      set_axis(test_case, *find_axis("mr-per-qp"), per_qp);
      test_case.iterations = 100;
      test_case.warmup = 10;
      test_case.queues.depth = 16;
      test_case.queues.signal_every = 4;
      test_case.queues.rx_depth = 64;
      ASSERT_EQ(why_impossible(test_case), "");
      allocated = registered = freed = 0;
      const Checked checked = measure(device, test_case);
      EXPECT_GT(checked.bytes, 0U);
      EXPECT_EQ(checked.bad_bytes, 0U);
      const std::size_t ends = (*mine != 0 ? 1 : 0) + (*peers != 0 ? 1 : 0);
      EXPECT_EQ(allocated, ends);
      EXPECT_GE(registered, ends);
      EXPECT_EQ(freed, ends);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tests, DeviceMemory, ::testing::ValuesIn(kTests),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(DeviceMemoryLimits, MoreThanTheDeviceHasIsUnsupportedWithBothFigures) {
  OpenDevice device = device_with_memory();
  device.limits.max_dm_size_bytes = 4096;
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.initiator.memory = "device";
  try {
    VerbsRunner{device, {test_case, device, Role::initiator}, 7};
    FAIL() << "it was taken";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("the device gives at most 4096"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace rdmameter
