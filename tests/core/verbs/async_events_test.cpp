// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/verbs/device_events.h"

namespace rdmameter {
namespace {

TEST(AsyncEvents, EndARunWhereSomethingBrokeAndNotWhereItOnlyChanged) {
  EXPECT_NE(fatal_event_text(IBV_EVENT_PORT_ERR), "");
  EXPECT_NE(fatal_event_text(IBV_EVENT_DEVICE_FATAL), "");
  EXPECT_EQ(fatal_event_text(IBV_EVENT_PORT_ACTIVE), "");
  EXPECT_EQ(fatal_event_text(IBV_EVENT_GID_CHANGE), "");
  EXPECT_NE(fatal_event_text(IBV_EVENT_LID_CHANGE), "");
}

TEST(AsyncEvents, AreNotedWhereWhatPathsAreMadeOfChanged) {
  for (const ibv_event_type type : {IBV_EVENT_GID_CHANGE, IBV_EVENT_PKEY_CHANGE,
                                    IBV_EVENT_SM_CHANGE, IBV_EVENT_CLIENT_REREGISTER})
    EXPECT_TRUE(noted_event_text(type).starts_with("IBV_EVENT_"));
  EXPECT_EQ(noted_event_text(IBV_EVENT_PORT_ACTIVE), "");
  EXPECT_EQ(noted_event_text(IBV_EVENT_COMM_EST), "");
}

}  // namespace
}  // namespace rdmameter
