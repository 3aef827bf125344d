// SPDX-License-Identifier: Apache-2.0
// Devices that have less than the one here: what a real device's verbs_context would do is replaced
// by a refusal, and the reason told is held to what was asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cerrno>

#include "core/endpoint.h"
#include "core/error.h"

namespace rdmameter {
namespace {

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
Case posted_by_wr(Opcode opcode, Transport transport) {
  Case made = default_case(opcode, Pattern::bandwidth);
  made.transport = static_cast<std::uint64_t>(transport);
  made.size_bytes = 64;
  made.api = 1;
  return made;
}

std::string refusal(OpenDevice& device, const Case& one_case, Role role) {
  try {
    const Endpoint endpoint{device, one_case, role};
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
  Case one_case = posted_by_wr(Opcode::send, Transport::uc);
  one_case.recv = 1;
  EXPECT_THAT(refusal(device, one_case, Role::responder),
              HasSubstr("does not share receives among QPs of this transport: use --recv rq, or "
                        "--transport rc"));
  one_case.transport = 0;
  EXPECT_EQ(refusal(device, one_case, Role::responder), "it was taken");
}

TEST_F(Refusals, OfSharedReceivesAltogetherNameTheRemedy) {
  device.limits.max_srq = 0;
  Case one_case = posted_by_wr(Opcode::send, Transport::uc);
  one_case.recv = 1;
  EXPECT_THAT(refusal(device, one_case, Role::responder),
              HasSubstr("has no shared receive queues: use --recv rq"));
}

TEST_F(Refusals, OfAnyInlineDataSayThatThereIsNone) {
  extended->create_qp_ex = no_inline;
  Case one_case = posted_by_wr(Opcode::rdma_write, Transport::rc);
  one_case.inline_bytes = 16;
  EXPECT_THAT(refusal(device, one_case, Role::initiator),
              HasSubstr("a QP can be created with at most 0"));
}

TEST_F(Refusals, OfAtomicsSayThatThereAreNone) {
  device.limits.atomic_cap = IBV_ATOMIC_NONE;
  EXPECT_THAT(refusal(device, default_case(Opcode::fetch_add, Pattern::bandwidth), Role::initiator),
              HasSubstr("has no atomic operations"));
}

}  // namespace
}  // namespace rdmameter

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (rdmameter::list_devices().empty()) return 77;
  return RUN_ALL_TESTS();
}
