// SPDX-License-Identifier: Apache-2.0
// Runs the tests, or is skipped where there is no verbs device.
#include <gtest/gtest.h>

#include "core/verbs/device.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (rdmameter::list_devices().empty()) return 77;
  return RUN_ALL_TESTS();
}
