// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "core/base/error.h"
#include "topologies/ranks/qp_maker.h"

namespace rdmameter {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

OpenDevice small_device() {
  OpenDevice device;
  device.port.device = "mlx5_0";
  device.port.number = 1;
  device.limits.max_qp = 256;
  return device;
}

TEST(QpLimit, OfAGraphThatNoRankCanHaveIsNoFailure) {
  const OpenDevice device = small_device();
  EXPECT_NO_THROW(require_qps(device, 256));
  try {
    require_qps(device, 257);
    FAIL() << "it was taken";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("asks 257 QPs of a rank, and mlx5_0/1 has room for 256 in all"),
                      HasSubstr("use a graph of fewer edges")));
  }
}

TEST(QpLimit, ThatIsReachedOnTheWayNamesWhatThisRankHadAndTheLimit) {
  for (const int error : {ENOMEM, ENOSPC, 0}) try {
      throw_no_qp(small_device(), "graph", 130, 255, error);
    } catch (const VerbsError& thrown) {
      EXPECT_EQ(thrown.error_number, error);
      EXPECT_THAT(thrown.what(),
                  AllOf(StartsWith("ibv_create_qp QP 131 of 255 on mlx5_0/1: "),
                        HasSubstr(". This rank had 130 of the 255 QPs of its graph; mlx5_0/1 has "
                                  "room for 256 in all")));
    }
}

}  // namespace
}  // namespace rdmameter
