// SPDX-License-Identifier: Apache-2.0
// The k-th call of a verb does what the settings say, and costs what they say.
#include "tests/software_device/device/faults.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>

#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::steady_clock;

/// From here on calls are counted from 1.
class WithFaults {
 public:
  explicit WithFaults(const char* text) : settings_("RDMAMETER_DEVICE_FAULTS", text) {
    forget_calls();
  }

 private:
  const WithSettings settings_;
};

ibv_send_wr write_to(const End& end, ibv_sge& source, std::uint64_t wr_id) {
  source = end.sge(0, 8);
  ibv_send_wr wr = to_remote(request(IBV_WR_RDMA_WRITE, source), end.address(), 64);
  wr.wr_id = wr_id;
  return wr;
}

TEST(SoftwareDeviceFaults, TheCallThatIsNamedFailsAndNoOther) {
  const WithFaults are("alloc_pd@2=ENOMEM,modify_qp@3=EIO");
  End first;
  Pd second(ibv_alloc_pd(first.context.get()));
  EXPECT_EQ(second, nullptr);
  EXPECT_EQ(errno, ENOMEM);
  second.reset(ibv_alloc_pd(first.context.get()));
  EXPECT_NE(second, nullptr);
  ibv_qp* const qp = first.add_qp();  // modifies it once
  ibv_qp_attr rtr = rtr_attributes(qp->qp_num);
  EXPECT_EQ(ibv_modify_qp(qp, &rtr, rtr_mask(IBV_QPT_RC)), 0);
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;
  EXPECT_EQ(ibv_modify_qp(qp, &error, IBV_QP_STATE), EIO);
  EXPECT_EQ(ibv_modify_qp(qp, &error, IBV_QP_STATE), 0);
}

TEST(SoftwareDeviceFaults, WithAPlusAllLaterCallsFailToo) {
  const WithFaults are("create_ah@2+=EAGAIN");
  End end;
  ibv_ah_attr path{};
  path.is_global = 1;
  path.port_num = 1;
  const Ah good(ibv_create_ah(end.pd.get(), &path));
  EXPECT_NE(good, nullptr);
  for (int i = 0; i < 3; ++i) {
    errno = 0;
    EXPECT_EQ(ibv_create_ah(end.pd.get(), &path), nullptr);
    EXPECT_EQ(errno, EAGAIN);
  }
}

TEST(SoftwareDeviceFaults, ARequestEndsWithItsStatusAndDoesNothing) {
  for (const char* const wire : {"", "latency=1ms"}) {
    const WithSettings is("RDMAMETER_DEVICE_WIRE", wire);
    const WithFaults are("post_send@3=REM_OP_ERR");
    End end;
    ibv_qp* const qp = end.add_qp();
    connect(*qp, qp->qp_num);
    ibv_sge source;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      end.memory[8 * i] = static_cast<std::byte>(i);  // a wire reads it when the message leaves
      const ibv_send_wr wr = write_to(end, source, i);
      source = end.sge(8 * i, 8);
      ASSERT_EQ(post_send(*qp, wr), 0);
      if (i == 3) {
        EXPECT_NE(end.memory[64], std::byte{3});
      }
    }
    constexpr std::array kExpected{IBV_WC_SUCCESS, IBV_WC_SUCCESS, IBV_WC_REM_OP_ERR,
                                   IBV_WC_WR_FLUSH_ERR};
    for (const ibv_wc_status expected : kExpected)
      EXPECT_EQ(next_completion(*end.send_cq).status, expected);
  }
}

TEST(SoftwareDeviceFaults, OfAListTheRequestThatFailsIsTold) {
  const WithFaults are("post_send@2=ENOMEM,post_recv@1=EINVAL");
  End end;
  ibv_qp* const qp = end.add_qp();
  connect(*qp, qp->qp_num);
  ibv_sge source;
  std::array<ibv_send_wr, 3> list{};
  for (std::uint64_t i = 0; i < 3; ++i) {
    list[i] = write_to(end, source, i);
    list[i].next = i < 2 ? &list[i + 1] : nullptr;
  }
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(qp, list.data(), &bad), ENOMEM);
  EXPECT_EQ(bad, &list[1]);
  EXPECT_EQ(next_completion(*end.send_cq).wr_id, 0U);
  EXPECT_TRUE(is_empty(*end.send_cq));
  EXPECT_EQ(post_recv(*qp, 1, {}), EINVAL);
  EXPECT_EQ(post_recv(*qp, 1, {}), 0);
}

TEST(SoftwareDeviceFaults, APollFails) {
  const WithFaults are("poll_cq@2=EIO");
  End end;
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(end.send_cq.get(), 1, &wc), 0);
  EXPECT_EQ(ibv_poll_cq(end.send_cq.get(), 1, &wc), -EIO);
  EXPECT_EQ(ibv_poll_cq(end.send_cq.get(), 1, &wc), 0);
}

TEST(SoftwareDeviceFaults, AHeldReceiversCqShowsNothingForAWhileAndThenAll) {
  constexpr auto kHeld = milliseconds(30);
  const WithFaults are("poll_cq@2=30ms");
  End end;
  ibv_qp* const qp = end.add_qp();
  connect(*qp, qp->qp_num);
  for (std::uint64_t i = 0; i < 4; ++i) {
    const std::array sink{end.sge(64 * (i + 1), 8)};
    ASSERT_EQ(post_recv(*qp, i, sink), 0);
    ibv_sge source = end.sge(0, 8);
    ASSERT_EQ(post_send(*qp, request(IBV_WR_SEND, source)), 0);
  }
  std::array<ibv_wc, 8> completions{};
  const auto poll = [&] { return ibv_poll_cq(end.recv_cq.get(), 8, completions.data()); };
  EXPECT_EQ(poll(), 2);
  const auto begin = steady_clock::now();
  EXPECT_EQ(ibv_poll_cq(end.send_cq.get(), 8, completions.data()), 4) << "another CQ is held";
  int found = 0;
  while (found == 0) found = poll();
  EXPECT_GE(steady_clock::now() - begin, kHeld - milliseconds(1));
  EXPECT_EQ(found, 2);
}

TEST(SoftwareDeviceFaults, ACallThatHangsDoesNotReturn) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const WithFaults are("alloc_pd@2=hang");
    End end;
    char said = 'b';
    if (write(pipe_ends[1], &said, 1) != 1) _exit(1);
    const Pd pd(ibv_alloc_pd(end.context.get()));
    said = 'r';
    if (write(pipe_ends[1], &said, 1) != 1) _exit(1);
    _exit(0);
  }
  char said = 0;
  ASSERT_EQ(read(pipe_ends[0], &said, 1), 1);
  usleep(20'000);
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "it has ended";
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(pipe_ends[1]);
  EXPECT_EQ(read(pipe_ends[0], &said, 1), 0) << "the call returned";
  close(pipe_ends[0]);
}

TEST(SoftwareDeviceFaults, AVerbLastsAsLongAsItCosts) {
  const WithSettings are("RDMAMETER_DEVICE_COSTS", "all=0ns,alloc_pd=5ms,page=1ms");
  End end;
  auto begin = steady_clock::now();
  for (int i = 0; i < 4; ++i) Pd(ibv_alloc_pd(end.context.get()));
  EXPECT_GE(duration_cast<milliseconds>(steady_clock::now() - begin).count(), 20);
  begin = steady_clock::now();
  const Mr mr(ibv_reg_mr(end.pd.get(), end.memory.data(), 8 * 4096, kAllAccess));
  EXPECT_GE(duration_cast<milliseconds>(steady_clock::now() - begin).count(), 8);
}

using SoftwareDeviceFaultsDeathTest = ::testing::Test;
TEST(SoftwareDeviceFaultsDeathTest, WhatIsNoFaultOrCostEndsTheProgramWithTheForm) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const char* const text : {"create_qp=ENOMEM", "create_qp@0=ENOMEM", "create_xy@1=ENOMEM",
                                 "create_qp@1=REM_OP_ERR", "create_qp@1", "create_qp@1=10ms"})
    EXPECT_DEATH(WithFaults{text}, "as in create_qp@3=ENOMEM") << text;
  EXPECT_DEATH(WithSettings("RDMAMETER_DEVICE_COSTS", "post_send=1us"),
               "a verb of the control path");
}

}  // namespace
}  // namespace rdmameter::software::testing
