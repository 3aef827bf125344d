// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/base/error.h"
#include "core/engine/layout/verify.h"
#include "core/wire/wait.h"

namespace rdmameter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::size_t kHugePage = 2 << 20;
const MemoryTerms kDevices{.files = FileMemory::devices};
const MemoryTerms kOverwrite{.files = FileMemory::overwrite};

/// A directory with a file in it that must stay as it is.
class MappedMemory : public ::testing::Test {
 protected:
  MappedMemory() : directory_(::testing::TempDir() + "memory_test.XXXXXX") {
    if (mkdtemp(directory_.data()) == nullptr) throw std::runtime_error(directory_);
    std::ofstream(canary()) << "what was here before";
  }
  ~MappedMemory() override { std::filesystem::remove_all(directory_); }

  std::string in(const std::string& name) const { return directory_ + "/" + name; }
  std::string canary() const { return in("canary"); }
  std::string canary_text() const {
    std::ifstream file(canary());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static Buffer map(const std::string& path, const MemoryTerms& terms, std::size_t bytes = 4096) {
    return {bytes, std::nullopt, "file:" + path, terms};
  }

 private:
  std::string directory_;
};

TEST_F(MappedMemory, IsNoClientsWhateverItNames) {
  for (const std::string& path : {canary(), in("new"), std::string("/dev/zero")})
    EXPECT_THAT([&] { map(path, {}); }, ThrowsMessage<Unsupported>(HasSubstr("--peer-memory")));
  EXPECT_EQ(canary_text(), "what was here before");
  EXPECT_FALSE(std::filesystem::exists(in("new")));
}

TEST_F(MappedMemory, OfAnOrdinaryFileIsRefusedByTheOptionThatIsMeant) {
  std::filesystem::create_symlink(canary(), in("link"));
  for (const MemoryTerms& terms : {kDevices, kOverwrite})
    for (const std::string& path : {canary(), in("link")})
      EXPECT_THAT([&] { map(path, terms); },
                  ThrowsMessage<UsageError>(
                      AllOf(HasSubstr("a regular file"), HasSubstr("--payload file:" + path))));
  EXPECT_EQ(canary_text(), "what was here before");
}

TEST_F(MappedMemory, OfAFileOnTmpfsIsRefused) {
  const Descriptor file{memfd_create("memory_test", MFD_CLOEXEC)};
  ASSERT_EQ(ftruncate(file.get(), 1 << 20), 0);
  EXPECT_THROW(map(fmt::format("/proc/self/fd/{}", file.get()), kOverwrite), UsageError);
}

TEST_F(MappedMemory, OfWhatIsNoFileIsRefused) {
  ASSERT_EQ(mkfifo(in("fifo").c_str(), 0600), 0);
  EXPECT_THAT([&] { map(in("fifo"), kOverwrite); },
              ThrowsMessage<UsageError>(HasSubstr("neither a file nor a device")));
  EXPECT_THROW(map(in("."), kOverwrite), VerbsError);  // a directory cannot be opened for writing
}

TEST_F(MappedMemory, CreatesNoFile) {
  EXPECT_THAT([&] { map(in("new"), kOverwrite); },
              ThrowsMessage<VerbsError>(HasSubstr("No such file")));
  EXPECT_FALSE(std::filesystem::exists(in("new")));
}

TEST_F(MappedMemory, IsACharacterDevices) {
  std::filesystem::create_symlink("/dev/zero", in("link"));
  for (const std::string& path : {std::string("/dev/zero"), in("link")}) {
    const Buffer mapped = map(path, kDevices, 5000);
    EXPECT_EQ(mapped.size_bytes(), 8192);
    mapped.data()[8191] = std::byte{1};
  }
}

TEST_F(MappedMemory, OfHugePagesWantsTheSwitchAndTheLength) {
  const Descriptor file{
      memfd_create("memory_test", MFD_CLOEXEC | MFD_HUGETLB | (21U << MAP_HUGE_SHIFT))};
  if (!file) GTEST_SKIP() << "this kernel has no huge pages of 2 MiB";
  ASSERT_EQ(ftruncate(file.get(), kHugePage), 0);
  const std::string path = fmt::format("/proc/self/fd/{}", file.get());
  EXPECT_THAT([&] { map(path, kDevices); },
              ThrowsMessage<UsageError>(HasSubstr("--overwrite-file")));
  EXPECT_THAT([&] { map(path, kOverwrite, kHugePage + 1); },
              ThrowsMessage<Unsupported>(AllOf(HasSubstr("is 2097152 bytes long"),
                                               HasSubstr("4194304 bytes are needed"))));
  struct stat facts {};
  ASSERT_EQ(fstat(file.get(), &facts), 0);
  EXPECT_EQ(facts.st_size, kHugePage);
  try {
    EXPECT_EQ(map(path, kOverwrite, 5).size_bytes(), kHugePage);
  } catch (const VerbsError& error) {
    GTEST_SKIP() << error.what();  // no huge page is reserved
  }
}

/// Wanted only for so many looks.
CancelCheck wanted_for(int& looks) {
  return [&looks] {
    if (--looks < 0) throw Interrupted("interrupted");
  };
}

TEST(StillWantedMemory, IsNotTouchedToItsEndOnceItIsUnwanted) {
  int looks = 1;
  EXPECT_THROW(Buffer(3 * kBytesPerLook, std::nullopt, {}, {.cancel_check = wanted_for(looks)}),
               Interrupted);
}

TEST(StillWantedMemory, IsNeitherFilledNorCheckedToItsEndOnceItIsUnwanted) {
  constexpr std::size_t kBytes = 3 * kBytesPerLook;
  const Area area{.slots = 1,
                  .stride_bytes = kBytes + 64,
                  .payload_bytes = kBytes,
                  .qps = 1,
                  .pieces = {{0, kBytes}}};
  std::vector<std::byte> bytes(area.total_bytes());
  const PayloadPattern random, zero{.zero = true}, repeated{.repeated = "abc"};
  for (const PayloadPattern& pattern : {random, zero, repeated}) {
    // Two looks at least while the message is made, three while it is copied or compared.
    for (int max = 0; max < 5; ++max) {
      int looks = max;
      EXPECT_THROW(fill_source(bytes, area, pattern, wanted_for(looks)), Interrupted) << max;
    }
    fill_source(bytes, area, pattern);
    for (int max = 0; max < 5; ++max) {
      int looks = max;
      EXPECT_THROW(check_target(bytes, area, pattern, {}, 1, wanted_for(looks)), Interrupted)
          << max;
    }
    EXPECT_EQ(check_target(bytes, area, pattern, {}, 1).checked_bytes, kBytes);
  }
  int looks = 0;
  EXPECT_THROW(poison_target(bytes, wanted_for(looks)), Interrupted);
}

}  // namespace
}  // namespace rdmameter
