// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/verbs/handles.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Is CAP_IPC_LOCK effective? For as long as this lives; a process that is not permitted to have it
/// has it in neither case.
class LockCapability {
 public:
  explicit LockCapability(bool effective) {
    syscall(SYS_capget, &header_, before_.data());
    auto changed = before_;
    constexpr std::uint32_t kBit = 1U << kCapIpcLock;
    changed[0].effective = effective ? changed[0].effective | (changed[0].permitted & kBit)
                                     : changed[0].effective & ~kBit;
    syscall(SYS_capset, &header_, changed.data());
  }
  ~LockCapability() { syscall(SYS_capset, &header_, before_.data()); }

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> before_{};
};

/// The soft limit on locked memory, for as long as this lives.
class MemlockLimit {
 public:
  explicit MemlockLimit(rlim_t size_bytes) {
    getrlimit(RLIMIT_MEMLOCK, &before_);
    rlimit lowered = before_;
    lowered.rlim_cur = size_bytes;
    setrlimit(RLIMIT_MEMLOCK, &lowered);
  }
  ~MemlockLimit() { setrlimit(RLIMIT_MEMLOCK, &before_); }

 private:
  rlimit before_{};
};

template <class Call>
VerbsError verbs_error_of(Call call) {
  try {
    call();
  } catch (const VerbsError& error) {
    return error;
  }
  return {"nothing was thrown", -1};
}

TEST(Check, PointerComesBackAsItIs) {
  int object = 7;
  EXPECT_EQ(check_pointer([&] { return &object; }, "ibv_alloc_pd", "rxe0"), &object);
}

TEST(Check, NullPointerIsTheErrnoOfThatMoment) {
  const auto call = [] { return errno = EBUSY, static_cast<int*>(nullptr); };
  const VerbsError error = verbs_error_of([&] { check_pointer(call, "ibv_alloc_pd", "rxe0"); });
  EXPECT_EQ(error.error_number, EBUSY);
  EXPECT_STREQ(error.what(), "ibv_alloc_pd rxe0: Device or resource busy");
}

TEST(Check, NullPointerWithoutErrnoIsNotAnEarlierCallsErrno) {
  errno = ENOENT;
  const auto call = [] { return static_cast<int*>(nullptr); };
  const VerbsError error = verbs_error_of([&] { check_pointer(call, "ibv_create_qp", "QP"); });
  EXPECT_EQ(error.error_number, 0);
  EXPECT_STREQ(error.what(), "ibv_create_qp QP: failed without saying why");
}

TEST(Check, ErrnoValueIsTakenFromTheResultAndNotFromErrno) {
  errno = EBUSY;
  EXPECT_NO_THROW(check_errno_value(0, "ibv_query_port", "rxe0/1"));
  const auto fails = [](int result) {
    return verbs_error_of([=] { check_errno_value(result, "ibv_query_port", "rxe0/1"); });
  };
  EXPECT_EQ(fails(EIO).error_number, EIO);
  EXPECT_EQ(fails(-EIO).error_number, EIO);  // the few verbs that negate it
}

TEST(Check, MinusOneIsTheErrnoOfThatMoment) {
  errno = EIO;
  EXPECT_EQ(check_minus_one(0, "ibv_query_gid", "rxe0/1"), 0);
  EXPECT_EQ(check_minus_one(5, "poll", "channel"), 5);
  EXPECT_EQ(verbs_error_of([] { check_minus_one(-1, "ibv_query_gid", "rxe0/1"); }).error_number,
            EIO);
}

TEST(Check, WhatADeviceDoesNotHaveIsUnsupportedAndNotAFailure) {
  EXPECT_THROW(throw_failure("ibv_alloc_dm", "rxe0", EOPNOTSUPP), Unsupported);
  EXPECT_THROW(throw_failure("ibv_alloc_td", "rxe0", ENOSYS), Unsupported);
  EXPECT_THROW(throw_failure("ibv_reg_dmabuf_mr", "mlx5_0", kEnotsupp), Unsupported);
  EXPECT_THROW(throw_failure("ibv_alloc_dm", "rxe0", EINVAL), VerbsError);
}

TEST(FailureText, NamesTheStepAndTheObjectAndWhatToDo) {
  const std::string text = failure_text("ibv_modify_qp(INIT->RTR)", "QP 0x1a2 on rxe0/1", EINVAL);
  EXPECT_THAT(text, HasSubstr("ibv_modify_qp(INIT->RTR) QP 0x1a2 on rxe0/1: Invalid argument. "));
  EXPECT_THAT(text, HasSubstr("--gid-index"));
}

TEST(FailureText, NamesTheKernelsOwnErrorWhichTheCLibraryDoesNotKnow) {
  EXPECT_EQ(failure_text("ibv_alloc_td", "rxe0", kEnotsupp),
            "ibv_alloc_td rxe0: not supported (ENOTSUPP)");
}

TEST(FailureText, SaysSoWhenTheVerbGaveNoReason) {
  EXPECT_EQ(failure_text("ibv_create_ah", "rxe0", 0),
            "ibv_create_ah rxe0: failed without saying why");
}

TEST(Remedy, OfPinnedMemoryPrintsTheLimitWhereItHolds) {
  const MemlockLimit limit(65536);
  const LockCapability none(false);
  EXPECT_THAT(remedy("ibv_reg_mr", ENOMEM), HasSubstr("RLIMIT_MEMLOCK is 65536 bytes"));
  EXPECT_THAT(remedy("ibv_reg_mr", ENOMEM), HasSubstr("ulimit -l unlimited"));
  EXPECT_THAT(remedy("ibv_create_qp(RC)", ENOMEM), HasSubstr("RLIMIT_MEMLOCK is 65536 bytes"));
}

TEST(Remedy, OfAProcessThatMayLockAnyMemoryNamesTheObjects) {
  const MemlockLimit limit(65536);
  const LockCapability any(true);
  if (!has_capability(kCapIpcLock)) GTEST_SKIP() << "it needs CAP_IPC_LOCK";
  EXPECT_THAT(remedy("ibv_create_qp(RC)", ENOMEM), HasSubstr("rdma resource show"));
  EXPECT_THAT(remedy("ibv_create_qp(RC)", ENOMEM), Not(HasSubstr("ulimit")));
}

TEST(Remedy, DependsOnVerbAndReason) {
  EXPECT_THAT(remedy("ibv_open_device", EACCES), HasSubstr("/dev/infiniband/uverbs*"));
  EXPECT_THAT(remedy("ibv_open_device", ENOENT), HasSubstr("modprobe ib_uverbs"));
  EXPECT_THAT(remedy("ibv_modify_qp(INIT->RTR)", ETIMEDOUT), HasSubstr("ip neigh"));
  EXPECT_THAT(remedy("ibv_create_qp", EINVAL), HasSubstr("rdmameter devices"));
  EXPECT_THAT(remedy("ibv_alloc_mw", EOPNOTSUPP), HasSubstr("choose another device"));
  EXPECT_THAT(remedy("ibv_dereg_mr", EBUSY), IsEmpty());
  EXPECT_THAT(remedy("ibv_reg_mr", EBUSY), Not(HasSubstr("MEMLOCK")));
}

struct Stubborn {
  int result;
};
int refuse(Stubborn* object) {
  if (object->result == -1) errno = EBUSY;
  return object->result;
}

TEST(Destroyer, ReportsARefusalOnStderr) {
  Stubborn object{EBUSY};
  ::testing::internal::CaptureStderr();
  { const std::unique_ptr<Stubborn, Destroyer<refuse>> owner(&object); }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(HasSubstr("Device or resource busy"), HasSubstr("refuse")));
}

TEST(Destroyer, TakesMinusOneForErrnoAndIsSilentOnSuccess) {
  Stubborn object{-1};
  ::testing::internal::CaptureStderr();
  { const std::unique_ptr<Stubborn, Destroyer<refuse>> owner(&object); }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("Device or resource busy"));
  object.result = 0;
  ::testing::internal::CaptureStderr();
  { const std::unique_ptr<Stubborn, Destroyer<refuse>> owner(&object); }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), IsEmpty());
}

}  // namespace
}  // namespace rdmameter
