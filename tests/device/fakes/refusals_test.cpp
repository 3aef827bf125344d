// SPDX-License-Identifier: Apache-2.0
// Devices that have less than the one here: what a real device's verbs_context would do is replaced
// by a refusal, and the reason told is held to what was asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/engine/endpoint.h"

namespace rdmameter {
namespace {

using testing::AllOf;
using testing::HasSubstr;

ibv_qp* (*real_create_qp_ex)(ibv_context*, ibv_qp_init_attr_ex*) = nullptr;

/// Shares receives among RC QPs only, as several adapters do.
ibv_qp* no_srq_but_for_rc(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  if (attributes->srq != nullptr && attributes->qp_type != IBV_QPT_RC)
    return errno = EINVAL, nullptr;
  return real_create_qp_ex(context, attributes);
}

/// Takes no inline data at all.
ibv_qp* no_inline(ibv_context* context, ibv_qp_init_attr_ex* attributes) {
  if (attributes->cap.max_inline_data != 0) return errno = EINVAL, nullptr;
  return real_create_qp_ex(context, attributes);
}

/// ibv_wr_* alone goes by create_qp_ex, which can be replaced.
TestCase posted_by_wr(Opcode opcode, Transport transport) {
  TestCase test_case = default_case(opcode, Pattern::bandwidth);
  test_case.transport = transport;
  test_case.size_bytes = 64;
  test_case.queues.api = Interface::extended;
  return test_case;
}

std::string refusal(OpenDevice& device, const TestCase& test_case, Role role) {
  try {
    const Endpoint endpoint{device, {test_case, device, role}};
  } catch (const Unsupported& error) {
    return error.what();
  }
  return "it was taken";
}

struct Refusals : ::testing::Test {
  Refusals() {
    extended = verbs_get_ctx(device.context.get());
    real_create_qp_ex = extended->create_qp_ex;
  }
  OpenDevice device = open_for_run("", kAuto, kAuto);
  verbs_context* extended = nullptr;
};

TEST_F(Refusals, OfSharedReceivesOnAnotherTransportNameBothRemedies) {
  extended->create_qp_ex = no_srq_but_for_rc;
  TestCase test_case = posted_by_wr(Opcode::send, Transport::uc);
  test_case.queues.recv = RecvQueue::srq;
  EXPECT_THAT(refusal(device, test_case, Role::responder),
              HasSubstr("does not share receives among QPs of this transport: use --recv rq, or "
                        "--transport rc"));
  test_case.transport = Transport::rc;
  EXPECT_EQ(refusal(device, test_case, Role::responder), "it was taken");
}

TEST_F(Refusals, OfSharedReceivesAltogetherNameTheRemedy) {
  device.limits.max_srq = 0;
  TestCase test_case = posted_by_wr(Opcode::send, Transport::uc);
  test_case.queues.recv = RecvQueue::srq;
  EXPECT_THAT(refusal(device, test_case, Role::responder),
              HasSubstr("has no shared receive queues: use --recv rq"));
}

TEST_F(Refusals, OfAnyInlineDataSayThatThereIsNone) {
  extended->create_qp_ex = no_inline;
  TestCase test_case = posted_by_wr(Opcode::rdma_write, Transport::rc);
  test_case.queues.inline_bytes = 16;
  EXPECT_THAT(refusal(device, test_case, Role::initiator),
              HasSubstr("a QP can be created with at most 0; use --inline off"));
}

TEST_F(Refusals, OfCqsCountEveryRequestSinceAFailedQpFlushesAll) {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.size_bytes = 64;
  test_case.queues.depth = 100;
  test_case.queues.signal_every = 50;
  test_case.qps = 4;
  device.limits.max_cqe = 399;
  EXPECT_THAT(refusal(device, test_case, Role::initiator),
              AllOf(HasSubstr("must hold 400 completions, the device's largest holds 399"),
                    HasSubstr("use --cq-sharing per-qp")));
  test_case.queues.cq_sharing = CqSharing::per_qp;
  EXPECT_EQ(refusal(device, test_case, Role::initiator), "it was taken");
  test_case.queues.cq_depth = 99;
  EXPECT_THAT(refusal(device, test_case, Role::initiator),
              HasSubstr("must hold 100 completions, and one of 99 entries overruns"));
}

TEST_F(Refusals, AreNotNeededWhereEachCqHoldsAllThatItsQpsCanFlush) {
  for (const Role role : {Role::initiator, Role::responder})
    for (const Pattern pattern : {Pattern::bandwidth, Pattern::ping_pong})
      for (const RecvQueue shared : {RecvQueue::rq, RecvQueue::srq}) {
        TestCase test_case = default_case(Opcode::send, pattern);
        test_case.size_bytes = 64;
        test_case.qps = 3;
        test_case.queues.depth = 300;
        test_case.queues.signal_every = 100;
        test_case.queues.recv = shared;
        const Endpoint endpoint{device, {test_case, device, role}};
        const auto result = endpoint.resources();
        const auto count = [&](const char* key) { return result.at(key).get<std::uint64_t>(); };
        EXPECT_GE(count("send_cqes"), 3 * count("send_wrs_per_qp")) << result;
        if (!posts_receives(test_case, role)) continue;
        EXPECT_GE(count("recv_cqes"),
                  shared == RecvQueue::srq ? count("srq_wrs") : 3 * count("recv_wrs_per_qp"))
            << result;
      }
}

TEST_F(Refusals, OfThreadDomainsNeedNoErrno) {
  extended->alloc_td = [](ibv_context*, ibv_td_init_attr*) -> ibv_td* { return nullptr; };
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.queues.thread_domain = 1;
  errno = 0;
  EXPECT_THROW((Endpoint{device, {test_case, device, Role::initiator}}), VerbsError);
}

TEST_F(Refusals, OfAtomicsSayThatThereAreNone) {
  device.limits.attributes.orig_attr.atomic_cap = IBV_ATOMIC_NONE;
  EXPECT_THAT(refusal(device, default_case(Opcode::fetch_add, Pattern::bandwidth), Role::initiator),
              HasSubstr("has no atomic operations"));
}

}  // namespace
}  // namespace rdmameter
