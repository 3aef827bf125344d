// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/base/kernel_files.h"

namespace rdmameter {
namespace {

TEST(CpuList, IsReadAsTheKernelWritesIt) {
  EXPECT_EQ(cpu_list("0-2,8"), (std::vector<unsigned>{0, 1, 2, 8}));
  EXPECT_EQ(cpu_list("5"), std::vector<unsigned>{5});
  for (const char* wrong : {"", "-", "3-1", "a", "1,,2", "1,", "0-4000000000"})
    EXPECT_TRUE(cpu_list(wrong).empty()) << wrong;
}

TEST(CpuList, OfTheOptionHasPlusSigns) {
  EXPECT_EQ(cpu_list("8+0-1", '+'), (std::vector<unsigned>{8, 0, 1}));
  EXPECT_TRUE(cpu_list("8,0", '+').empty());
}

TEST(CpuList, IsWrittenAsItIsRead) {
  for (const char* text : {"", "5", "0-2,8", "0,2,4-5"})
    EXPECT_EQ(cpu_list_text(cpu_list(text)), text);
}

}  // namespace
}  // namespace rdmameter
