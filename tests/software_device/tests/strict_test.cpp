// SPDX-License-Identifier: Apache-2.0
// What a correct program does not do is refused; where the settings are strict, it ends the
// program.
#include <cerrno>

#include "tests/software_device/tests/ends.h"

namespace rdmameter::software::testing {
namespace {

struct Loop {
  Loop() {
    qp = end.add_qp();
    connect(*qp, qp->qp_num);
  }
  ibv_send_wr write(unsigned flags) {
    source = end.sge(0, 8);
    return to_remote(request(IBV_WR_RDMA_WRITE, source, flags), end.address(), 64);
  }
  End end;
  ibv_qp* qp = nullptr;
  ibv_sge source{};
};

/// Posts one more request than the queue takes.
int overfill(unsigned flags) {
  Loop loop;
  for (std::uint32_t i = 0; i < kDepth; ++i) EXPECT_EQ(post_send(*loop.qp, loop.write(flags)), 0);
  return post_send(*loop.qp, loop.write(flags));
}
int post_one_receive_too_many() {
  Loop loop;
  for (std::uint32_t i = 0; i < kDepth; ++i) EXPECT_EQ(post_recv(*loop.qp, i, {}), 0);
  return post_recv(*loop.qp, kDepth, {});
}
int post_before_rts() {
  End end;
  return post_send(*end.add_qp(), {});
}
ibv_wc_status write_with_a_wrong_key() {
  Loop loop;
  ibv_send_wr wr = loop.write(IBV_SEND_SIGNALED);
  wr.wr.rdma.rkey += 1;
  EXPECT_EQ(post_send(*loop.qp, wr), 0);
  return next_completion(*loop.end.send_cq).status;
}

TEST(SoftwareDeviceStrict, WithoutItEachMistakeIsAnError) {
  EXPECT_EQ(overfill(0), ENOMEM);
  EXPECT_EQ(overfill(IBV_SEND_SIGNALED), ENOMEM);
  EXPECT_EQ(post_one_receive_too_many(), ENOMEM);
  EXPECT_EQ(post_before_rts(), EINVAL);
  EXPECT_EQ(write_with_a_wrong_key(), IBV_WC_REM_ACCESS_ERR);
}

TEST(SoftwareDeviceStrict, ABadOpcodeEndsAListWhereItStands) {
  Loop loop;
  std::array<ibv_send_wr, 3> list{};
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i] = loop.write(IBV_SEND_SIGNALED);
    list[i].wr_id = i;
    list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
  }
  list[1].opcode = IBV_WR_TSO;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(loop.qp, list.data(), &bad), EINVAL);
  EXPECT_EQ(bad, &list[1]);
  EXPECT_EQ(next_completion(*loop.end.send_cq).wr_id, 0U);
  EXPECT_TRUE(is_empty(*loop.end.send_cq));
}

TEST(SoftwareDeviceStrict, NothingIsReadInline) {
  Loop loop;
  ibv_send_wr wr = loop.write(IBV_SEND_SIGNALED | IBV_SEND_INLINE);
  EXPECT_EQ(post_send(*loop.qp, wr), 0);
  wr.opcode = IBV_WR_RDMA_READ;
  EXPECT_EQ(post_send(*loop.qp, wr), EINVAL);
}

TEST(SoftwareDeviceStrict, RightsThatAreNoneAreRefused) {
  Loop loop;
  constexpr unsigned kUnknown = 1U << 15;
  EXPECT_EQ(ibv_reg_mr_iova2(loop.end.pd.get(), loop.end.memory.data(), 64, 0, kUnknown), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_qp_attr changed{};
  changed.qp_access_flags = kUnknown;
  EXPECT_EQ(ibv_modify_qp(loop.qp, &changed, IBV_QP_ACCESS_FLAGS), EINVAL);
}

using SoftwareDeviceStrictDeathTest = ::testing::Test;

TEST(SoftwareDeviceStrictDeathTest, EachMistakeEndsTheProgramWithItsName) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const WithSettings are("RDMAMETER_DEVICE_STRICT", "1");
  EXPECT_DEATH(overfill(0), "full of unsignaled requests");
  EXPECT_DEATH(overfill(IBV_SEND_SIGNALED), "posted to a full send queue");
  EXPECT_DEATH(post_one_receive_too_many(), "posted to a full receive queue");
  EXPECT_DEATH(post_before_rts(), "not in RTS");
  EXPECT_DEATH(write_with_a_wrong_key(), "has status 10 .*a wrong key");
}

}  // namespace
}  // namespace rdmameter::software::testing
