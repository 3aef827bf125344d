// SPDX-License-Identifier: Apache-2.0
// What the axes of QPs and paths come to in the attributes of each step.
#include "core/verbs/qp_state.h"

#include <gtest/gtest.h>

namespace rdmameter {
namespace {

TestCase case_with(std::initializer_list<std::pair<std::string_view, std::string_view>> axes) {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  for (const auto& [option, value] : axes) set_axis(test_case, *find_axis(option), value);
  return test_case;
}

TEST(QpPath, HasWhatTheAxesSay) {
  const QpPath path = path_of(case_with({{"sl", "3"},
                                         {"tclass", "104"},
                                         {"flow-label", "7"},
                                         {"qp-timeout", "10"},
                                         {"retry-count", "2"},
                                         {"rnr-retry", "5"},
                                         {"min-rnr-timer", "1"}}));
  const ibv_ah_attr address = ah_attributes(path);
  EXPECT_EQ(address.sl, 3);
  EXPECT_EQ(address.grh.traffic_class, 104);
  EXPECT_EQ(address.grh.flow_label, 7U);
  const QpStep rtr = rtr_step(Transport::rc, path, 1, 2);
  EXPECT_EQ(rtr.attributes.ah_attr.sl, 3);
  EXPECT_EQ(rtr.attributes.min_rnr_timer, 1);
  EXPECT_TRUE(rtr.mask & IBV_QP_MIN_RNR_TIMER);
  const QpStep rts = rts_step(Transport::rc, path, 2);
  EXPECT_EQ(rts.attributes.timeout, 10);
  EXPECT_EQ(rts.attributes.retry_cnt, 2);
  EXPECT_EQ(rts.attributes.rnr_retry, 5);
  EXPECT_TRUE(rts.mask & IBV_QP_TIMEOUT && rts.mask & IBV_QP_RETRY_CNT &&
              rts.mask & IBV_QP_RNR_RETRY);
}

TEST(QpPath, LeavesRdmaCmsChoiceWhereAnAxisIsZero) {
  ibv_ah_attr resolved{};
  resolved.sl = 2;
  resolved.grh.traffic_class = 106;
  resolved.grh.flow_label = 9;
  set_asked(resolved, path_of(case_with({{"sl", "0"}, {"tclass", "104"}})));
  EXPECT_EQ(resolved.sl, 2);
  EXPECT_EQ(resolved.grh.traffic_class, 104);
  EXPECT_EQ(resolved.grh.flow_label, 9U);
}

TEST(QpPath, OfNoChoiceHasTheDefaultsOfTheAxes) {
  const QpPath chosen = path_of(case_with({})), plain;
  EXPECT_EQ(chosen.timeout, plain.timeout);
  EXPECT_EQ(chosen.retry_count, plain.retry_count);
  EXPECT_EQ(chosen.rnr_retry, plain.rnr_retry);
  EXPECT_EQ(chosen.min_rnr_timer, plain.min_rnr_timer);
}

TEST(QpStep, SetsThePartitionAndWhatThePeerMayDo) {
  const QpStep step = init_step(Transport::rc, 2, 5, IBV_ACCESS_REMOTE_WRITE);
  EXPECT_EQ(step.attributes.port_num, 2);
  EXPECT_EQ(step.attributes.pkey_index, 5);
  EXPECT_EQ(step.attributes.qp_access_flags, unsigned{IBV_ACCESS_REMOTE_WRITE});
  EXPECT_FALSE(init_step(Transport::ud, 1, 0, 0).mask & IBV_QP_ACCESS_FLAGS);
}

TEST(QpStep, OfUnreliableQpsSaysNothingOfRetries) {
  const int mask = rts_step(Transport::uc, QpPath{}, 0).mask;
  EXPECT_FALSE(mask & (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY));
}

}  // namespace
}  // namespace rdmameter
