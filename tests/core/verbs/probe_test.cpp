// SPDX-License-Identifier: Apache-2.0
// The limits of a device that are found by trying, on verbs that are counted.
#include "core/verbs/probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/base/error.h"
#include "core/verbs/environment.h"

namespace {

/// A device in place of libibverbs' own: this program's definitions go before those of a library.
struct Device {
  std::uint32_t inline_bytes = 0;      ///< most that a QP is created with
  int refuses_all = 0;                 ///< errno value
  std::vector<std::uint32_t> inlined;  ///< asked for, by each try of a QP
  int alive = 0;                       ///< its objects
} device;

ibv_device adapter{};
ibv_context context = [] {
  ibv_context made{};
  made.device = &adapter;
  return made;
}();
ibv_pd pd{.context = &context, .handle = 0};
ibv_cq cq{};
ibv_qp qp{};

template <class Object>
Object* made(Object& object) {
  ++device.alive;
  return &object;
}
int dropped() {
  --device.alive;
  return 0;
}

}  // namespace

extern "C" {
ibv_pd* ibv_alloc_pd(ibv_context*) {
  return made(pd);
}
int ibv_dealloc_pd(ibv_pd*) {
  return dropped();
}
ibv_cq* ibv_create_cq(ibv_context*, int, void*, ibv_comp_channel*, int) {
  return made(cq);
}
int ibv_destroy_cq(ibv_cq*) {
  return dropped();
}
ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr* wanted) {
  device.inlined.push_back(wanted->cap.max_inline_data);
  errno = device.refuses_all;
  if (device.refuses_all != 0) return nullptr;
  errno = ENOMEM;  // as some providers say it
  return wanted->cap.max_inline_data <= device.inline_bytes ? made(qp) : nullptr;
}
int ibv_destroy_qp(ibv_qp*) {
  return dropped();
}
}

namespace rdmameter {
namespace {

const std::vector<std::uint32_t> kLimits{
    0, 1, 32, 60, 96, 101, 220, 512, 956, 1024, 4096, 4097, kMaxInlineBytes - 1, kMaxInlineBytes};
constexpr std::size_t kInlineTries = 17;  // two to this power are the answers that there may be

TEST(Rxe, CountsPiecesRightFromReleasesOnThatHaveBothMended) {
  for (const RdmaCoreVersion mended :
       {RdmaCoreVersion{64, 0}, {63, 1}, {60, 2}, {56, 4}, {40, 13}, {70, 0}})
    EXPECT_FALSE(rxe_miscounts_pieces(mended)) << mended.release << '.' << mended.point;
  for (const RdmaCoreVersion before :
       {RdmaCoreVersion{}, {39, 20}, {63, 0}, {56, 1}, {44, 11}, {40, 12}})
    EXPECT_TRUE(rxe_miscounts_pieces(before)) << before.release << '.' << before.point;
}

TEST(InlineLimit, IsFoundToTheByte) {
  for (const std::uint32_t limit : kLimits) {
    device = {.inline_bytes = limit};
    const QpLimits limits = probe_qp_limits(context, Transport::rc);
    EXPECT_TRUE(limits.creatable);
    EXPECT_EQ(limits.max_inline_bytes, limit);
    EXPECT_EQ(device.alive, 0);
  }
}

TEST(InlineLimit, IsTheCeilingWhereADeviceTakesMore) {
  device = {.inline_bytes = kMaxInlineBytes + 1};
  EXPECT_EQ(probe_qp_limits(context, Transport::ud).max_inline_bytes, kMaxInlineBytes);
  for (const std::uint32_t asked : device.inlined) EXPECT_LE(asked, kMaxInlineBytes);
}

TEST(InlineLimit, TakesAsManyTriesAsAHalvingSearch) {
  for (const std::uint32_t limit : kLimits) {
    device = {.inline_bytes = limit};
    probe_qp_limits(context, Transport::rc);
    const auto tries =
        device.inlined.size() - static_cast<std::size_t>(std::ranges::count(device.inlined, 0U));
    EXPECT_LE(tries, kInlineTries) << limit;
  }
}

TEST(InlineLimit, IsNotLookedForWhereNoQpCanBeCreated) {
  device = {.refuses_all = EOPNOTSUPP};
  const QpLimits limits = probe_qp_limits(context, Transport::uc);
  EXPECT_FALSE(limits.creatable);
  EXPECT_EQ(limits.reason, "Operation not supported");
  EXPECT_EQ(device.inlined.size(), 1U);
  EXPECT_EQ(device.alive, 0);
}

TEST(LargestThatWorks, NeverTriesWhatIsKnownToWorkOrIsOutOfRange) {
  for (const std::uint32_t limit : {3U, 4U, 7U, 8U, 9U}) {
    std::vector<std::uint32_t> tried;
    EXPECT_EQ(largest_that_works(3, 9,
                                 [&](std::uint32_t value) {
                                   tried.push_back(value);
                                   return value <= limit;
                                 }),
              limit);
    for (const std::uint32_t value : tried) EXPECT_TRUE(3 < value && value <= 9) << value;
    EXPECT_LE(tried.size(), 3U);
  }
  EXPECT_EQ(
      largest_that_works(5, 5, [](std::uint32_t) -> bool { throw MeasurementError("tried"); }), 5U);
}

}  // namespace
}  // namespace rdmameter
