// SPDX-License-Identifier: Apache-2.0
#include "core/server/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/base/error.h"
#include "core/server/call_filter.h"
#include "tests/core/base/fake_tree.h"
#ifdef RDMAMETER_SECCOMP
#include "tests/core/server/try_calls.h"
#endif

namespace rdmameter {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr bool kWithGpus = true;

/// What a process in the sandbox finds. @return its exit status: 0, or the errno value, or 253
template <class Action>
int in_sandbox(const SandboxOptions& options, Action action, bool gpus = false) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      enter_sandbox(options, gpus);
    } catch (const VerbsError&) {
      _exit(255);
    }
    errno = 0;
    _exit(action() ? 0 : errno != 0 ? errno : 253);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

bool opens(const std::string& path, int flags) {
  return open(path.c_str(), flags | O_CLOEXEC, 0600) >= 0;
}

class Sandbox : public ::testing::Test {
 protected:
  Sandbox() {
    char name[] = "/tmp/sandbox_test.XXXXXX";
    scratch = mkdtemp(name);
  }
  ~Sandbox() override { std::filesystem::remove_all(scratch); }
  void SetUp() override {
    if (!has_landlock()) GTEST_SKIP() << "this kernel has no Landlock of ABI 2";
  }
  std::string scratch;
};

TEST_F(Sandbox, NothingIsWrittenOrMadeOutsideOfTheTable) {
  const auto attempt = [&](const SandboxOptions& options) {
    return in_sandbox(options, [&] { return opens(scratch + "/new", O_WRONLY | O_CREAT); });
  };
  EXPECT_EQ(attempt({}), EACCES);
  EXPECT_FALSE(std::filesystem::exists(scratch + "/new"));
  EXPECT_EQ(attempt({.mode = Sandboxing::off}), 0);
}

TEST_F(Sandbox, NothingIsReadOutsideOfTheTable) {
  {
    const int made = open((scratch + "/secret").c_str(), O_WRONLY | O_CREAT, 0600);
    close(made);
  }
  EXPECT_EQ(in_sandbox({}, [&] { return opens(scratch + "/secret", O_RDONLY); }), EACCES);
  EXPECT_EQ(in_sandbox({}, [&] { return opens(scratch, O_RDONLY | O_DIRECTORY); }), EACCES);
  EXPECT_EQ(
      in_sandbox(
          {},
          [&] { return rename((scratch + "/secret").c_str(), (scratch + "/moved").c_str()) == 0; }),
      EACCES);
}

TEST_F(Sandbox, OfTheSystemsSettingsOnlyThoseOfLibrariesAreRead) {
  for (const char* path : {"/etc/passwd", "/etc"})
    EXPECT_EQ(in_sandbox({}, [&] { return opens(path, O_RDONLY); }), EACCES) << path;
}

TEST_F(Sandbox, NoProgramIsRun) {
  EXPECT_EQ(in_sandbox({}, [] { return execl("/bin/true", "true", nullptr) == 0; }),
            missing_call_filter() == nullptr ? EPERM : EACCES);
}

TEST_F(Sandbox, NothingOutsideOfTheTableIsCut) {
  if (landlock_abi() < 3) GTEST_SKIP() << "this kernel's Landlock does not control truncate()";
  const std::string path = scratch + "/data";
  {
    const int made = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    EXPECT_EQ(write(made, "data", 4), 4);
    close(made);
  }
  EXPECT_EQ(in_sandbox({}, [&] { return truncate(path.c_str(), 0) == 0; }),
            missing_call_filter() == nullptr ? EPERM : EACCES);
  EXPECT_EQ(std::filesystem::file_size(path), 4U);
  EXPECT_EQ(in_sandbox({.allowed = {path}}, [&] { return opens(path, O_WRONLY | O_TRUNC); }), 0);
}

TEST_F(Sandbox, ItsServerIsSentNoSignal) {
  if (landlock_abi() < 6) GTEST_SKIP() << "this kernel's Landlock does not control signals";
  EXPECT_EQ(in_sandbox({}, [] { return kill(getppid(), 0) == 0; }), EPERM);
}

TEST_F(Sandbox, WhatASessionNeedsIsThere) {
  for (const char* path : {"/sys", "/proc/self/status", "/etc/ld.so.cache", "/usr/lib"})
    EXPECT_EQ(in_sandbox({}, [&] { return opens(path, O_RDONLY); }), 0) << path;
  EXPECT_EQ(in_sandbox({}, [] { return opens("/dev/null", O_RDWR); }), 0);
  EXPECT_EQ(in_sandbox({}, [] { return opens("/dev/urandom", O_RDONLY); }), 0);
}

TEST_F(Sandbox, WhatIsAllowedIsReadAndWritten) {
  EXPECT_EQ(in_sandbox({.allowed = {scratch}},
                       [&] {
                         const int file =
                             open((scratch + "/new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
                         return file >= 0 && write(file, "x", 1) == 1;
                       }),
            0);
  EXPECT_EQ(in_sandbox({.allowed = {scratch + "/none"}}, [] { return true; }), 255);
}

/// CUDA gives its threads names so.
TEST_F(Sandbox, WhatDriversOfGpusWriteIsOpenOnlyWhereTheOwnerAllowsGpus) {
  const auto name_thread = [] {
    return opens("/proc/self/task/" + std::to_string(gettid()) + "/comm",
                 O_WRONLY | O_CREAT | O_TRUNC);
  };
  EXPECT_EQ(in_sandbox({}, name_thread), EACCES);
  EXPECT_EQ(in_sandbox({}, name_thread, kWithGpus), 0);
  for (const std::string& path : {scratch + "/new", "/proc/" + std::to_string(getpid()) + "/comm"})
    EXPECT_EQ(in_sandbox(
                  {}, [&] { return opens(path, O_WRONLY | O_CREAT); }, kWithGpus),
              EACCES)
        << path;
}

TEST(SandboxDevices, OfGpusAreThoseOfTheirMemory) {
  const FakeTree dev;
  for (const char* node :
       {"nvidia0", "nvidia12", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset",
        "nvidia-caps/nvidia-cap1", "kfd", "dri/renderD128", "dri/card0", "null"})
    dev.write(node, "");
  const std::string folder = dev.root();
  EXPECT_THAT(gpu_nodes(folder), UnorderedElementsAre(folder + "/nvidia0", folder + "/nvidia12",
                                                      folder + "/nvidiactl", folder + "/nvidia-uvm",
                                                      folder + "/kfd", folder + "/dri/renderD128"));
  EXPECT_THAT(gpu_nodes(dev.root() / "none"), IsEmpty());
}

TEST(SandboxDevices, AreThoseOfVerbsAndOfRdmaCmAlone) {
  const FakeTree dev;
  for (const char* node : {"uverbs0", "uverbs12", "rdma_cm", "umad0", "issm0", "ucm0"})
    dev.write(node, "");
  const std::string folder = dev.root();
  EXPECT_THAT(verbs_nodes(folder),
              UnorderedElementsAre(folder + "/uverbs0", folder + "/uverbs12", folder + "/rdma_cm"));
  EXPECT_THAT(verbs_nodes(dev.root() / "none"), IsEmpty());
}

/// Of a set that /proc/self/status names.
std::uint64_t capabilities(const std::string& set) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(set)) return std::stoull(line.substr(set.size() + 1), nullptr, 16);
  return ~0ULL;
}

TEST(SandboxLimits, NoCapabilityButThatToLockMemory) {
  constexpr std::uint64_t kIpcLock = 1U << 14;
  if ((capabilities("CapEff") & ~kIpcLock) == 0) GTEST_SKIP() << "this process has none to lose";
  EXPECT_EQ(in_sandbox({},
                       [] {
                         return (capabilities("CapEff") | capabilities("CapPrm")) == kIpcLock &&
                                (capabilities("CapInh") | capabilities("CapAmb")) == 0;
                       }),
            0);
}

TEST(SandboxLimits, NoPrivilegesNoFilesNoCoreDumps) {
  const auto limit = [](auto resource) {
    rlimit has{1, 1};
    return getrlimit(resource, &has) == 0 && has.rlim_max == 0;
  };
  EXPECT_EQ(in_sandbox({}, [&] { return limit(RLIMIT_CORE) && limit(RLIMIT_FSIZE); }), 0);
}

TEST(SandboxLimits, DriversOfGpusHaveFilesInMemoryUpToABound) {
  const auto of_bytes = [](off_t bytes) {
    return [bytes] {
      signal(SIGXFSZ, SIG_IGN);
      return ftruncate(memfd_create("sandbox_test", MFD_CLOEXEC), bytes) == 0;
    };
  };
  EXPECT_EQ(in_sandbox({}, of_bytes(1)), EFBIG);
  if (!has_landlock()) {
    EXPECT_EQ(in_sandbox({}, of_bytes(1), kWithGpus), EFBIG);
    GTEST_SKIP() << "this kernel has no Landlock of ABI 2, which then allows them";
  }
  EXPECT_EQ(in_sandbox({}, of_bytes(64 << 20), kWithGpus), 0);
  EXPECT_EQ(in_sandbox({}, of_bytes((64 << 20) + 1), kWithGpus), EFBIG);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit lower{1 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &lower);
  EXPECT_EQ(in_sandbox({}, of_bytes(64 << 20), kWithGpus), EFBIG) << "the server's own is less";
  setrlimit(RLIMIT_FSIZE, &before);
}

#ifdef RDMAMETER_SECCOMP
TEST(SandboxCalls, AreRefusedOneByOneAsTheTableSaysAndThoseForTheSessionItselfAllowed) {
  if (const char* const missing = missing_call_filter()) GTEST_SKIP() << missing;
  for (const auto& wrong : {wrongly_allowed_calls, wrongly_refused_calls})
    EXPECT_EQ(in_sandbox({},
                         [&] {
                           const std::string names = wrong();
                           std::cerr << names;
                           return names.empty();
                         }),
              0);
}
#endif

TEST(SandboxOptions, APathThatIsNotThereOrMeansNothingIsRefused) {
  for (const char* path : {"/no/such/path", "relative", ""}) {
    try {
      check_sandbox({.allowed = {path}});
      ADD_FAILURE() << path;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("--sandbox-allow"));
    }
  }
  EXPECT_THROW(check_sandbox({.mode = Sandboxing::off, .allowed = {"/tmp"}}), UsageError);
  EXPECT_NO_THROW(check_sandbox({.mode = Sandboxing::on, .allowed = {"/tmp"}}));
}

}  // namespace
}  // namespace rdmameter
