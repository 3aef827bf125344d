// SPDX-License-Identifier: Apache-2.0
#include "core/server/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/base/parse_value.h"
#include "core/server/call_filter.h"
#include "core/wire/wait.h"

namespace rdmameter {
namespace {

// <linux/landlock.h>, which older systems lack; the numbers never change.
constexpr std::uint64_t kExecute = 1U << 0, kWriteFile = 1U << 1, kReadFile = 1U << 2,
                        kReadDir = 1U << 3, kTruncate = 1U << 14;
constexpr std::uint64_t kAllOfAbi2 = (1U << 14) - 1;  ///< up to LANDLOCK_ACCESS_FS_REFER
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate;
constexpr std::uint64_t kScopeSignal = 1U << 1;
constexpr long kCreateRuleset = 444, kAddRule = 445, kRestrictSelf = 446;
constexpr int kRulePathBeneath = 1;
constexpr unsigned kAskVersion = 1;
constexpr long kLeastAbi = 2, kAbiOfTruncate = 3, kAbiOfScopes = 6;

/// A kernel that knows less of it takes zeros for what it does not know.
struct RulesetAttributes {
  std::uint64_t handled_access_fs, handled_access_net, scoped;
};
struct __attribute__((packed)) PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent;
};

constexpr std::uint64_t kRead = kReadFile | kReadDir;
constexpr std::uint64_t kReadWrite = kRead | kWriteFile;

struct Access {
  const char* path;  ///< it need not be there
  std::uint64_t rights;
};

/// All that a session opens. Providers of verbs are libraries that are loaded when a device is
/// looked for, and dlopen() only reads.
/// Not all of /etc: a server's token file may be there, and keys and passwords of other programs.
constexpr std::array kTable{
    Access{"/sys", kRead}, Access{"/proc", kRead},
    // What libibverbs, the dynamic linker and the resolver read.
    Access{"/etc/libibverbs.d", kRead}, Access{"/usr/local/etc/libibverbs.d", kRead},
    Access{"/etc/ld.so.cache", kRead}, Access{"/etc/hosts", kRead}, Access{"/etc/host.conf", kRead},
    Access{"/etc/nsswitch.conf", kRead}, Access{"/etc/resolv.conf", kRead},
    Access{"/etc/gai.conf", kRead}, Access{"/lib", kRead}, Access{"/lib64", kRead},
    Access{"/usr/lib", kRead}, Access{"/usr/lib64", kRead}, Access{"/usr/local/lib", kRead},
    Access{"/dev/null", kReadWrite}, Access{"/dev/infiniband", kReadDir},
    Access{"/dev/urandom", kRead},  // std::random_device of some libraries
};

/// What drivers of GPUs open beside their nodes: where container tools and ROCm put libraries, the
/// capabilities of NVIDIA's MIG. CUDA gives its threads names by /proc, and cuInit() fails with
/// CUDA_ERROR_OPERATING_SYSTEM where that is refused (seen with the driver 580.159.04).
constexpr std::array kGpuTable{Access{"/usr/local/nvidia", kRead}, Access{"/opt/rocm/lib", kRead},
                               Access{"/dev/nvidia-caps", kRead},
                               Access{"/proc/self/task", kReadWrite | kTruncate}};

/// Drivers may have files in memory (memfd), for which RLIMIT_FSIZE holds, too. Only with Landlock:
/// else this limit alone keeps a session from writing other files.
constexpr rlim_t kGpuFileBytes = 64U << 20;

[[noreturn]] void throw_refused(const char* step, const std::string& what) {
  throw VerbsError("the sandbox of this session: {} {}: {}", step, what, std::strerror(errno));
}

/// @param needed  is it an error if it is not there?
void allow(int ruleset, const std::string& path, std::uint64_t rights, bool needed) {
  const Descriptor place{open(path.c_str(), O_PATH | O_CLOEXEC)};
  struct stat status {};
  if (!place || fstat(place.get(), &status) != 0) {
    if (needed) throw_refused("open", path);
    return;
  }
  const PathBeneath rule{S_ISDIR(status.st_mode) ? rights : rights & kOfFiles, place.get()};
  if (syscall(kAddRule, ruleset, kRulePathBeneath, &rule, 0) != 0)
    throw_refused("landlock_add_rule", path);
}

void enter_landlock(const SandboxOptions& options, bool gpus) {
  const long abi = landlock_abi();
  const std::uint64_t all = kAllOfAbi2 | (abi >= kAbiOfTruncate ? kTruncate : 0);
  const RulesetAttributes attributes{.handled_access_fs = all,
                                     .handled_access_net = 0,
                                     .scoped = abi >= kAbiOfScopes ? kScopeSignal : 0};
  const Descriptor ruleset{
      static_cast<int>(syscall(kCreateRuleset, &attributes, sizeof attributes, 0))};
  if (!ruleset) throw_refused("call", "landlock_create_ruleset");
  for (const Access& each : kTable) allow(ruleset.get(), each.path, each.rights, false);
  for (const std::string& node : verbs_nodes()) allow(ruleset.get(), node, kReadWrite, false);
  if (gpus) {
    for (const Access& each : kGpuTable) allow(ruleset.get(), each.path, each.rights & all, false);
    for (const std::string& node : gpu_nodes()) allow(ruleset.get(), node, kReadWrite, false);
  }
  for (const std::string& path : options.allowed) allow(ruleset.get(), path, all & ~kExecute, true);
  if (syscall(kRestrictSelf, ruleset.get(), 0) != 0)
    throw_refused("call", "landlock_restrict_self");
}

std::vector<std::string> nodes_in(const std::filesystem::path& folder, const auto& wanted) {
  std::vector<std::string> nodes;
  for (const std::filesystem::path& entry : entries_of(folder))
    if (wanted(entry.filename().native())) nodes.push_back(entry);
  return nodes;
}

/// @param most  less, where the server has less
void limit(__rlimit_resource resource, const char* name, rlim_t most) {
  rlimit values{};
  if (getrlimit(resource, &values) != 0) throw_refused("getrlimit", name);
  values.rlim_cur = std::min(values.rlim_cur, most);
  values.rlim_max = std::min(values.rlim_max, most);
  if (setrlimit(resource, &values) != 0) throw_refused("setrlimit", name);
}

/// Those of a server that runs as root. A device may lock more memory than the limit for a session,
/// too, if it may for the server.
void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (syscall(SYS_capget, &header, sets.data()) != 0) throw_refused("call", "capget");
  const std::uint32_t kept = sets[0].permitted & CAP_TO_MASK(CAP_IPC_LOCK);
  if (sets[0].permitted == kept && sets[1].permitted == 0) return;
  sets = {__user_cap_data_struct{kept, kept, 0}, __user_cap_data_struct{}};
  if (syscall(SYS_capset, &header, sets.data()) != 0) throw_refused("call", "capset");
}

}  // namespace

std::vector<std::string> verbs_nodes(const std::filesystem::path& folder) {
  return nodes_in(folder, [](std::string_view name) {
    return name.starts_with("uverbs") || name == "rdma_cm";
  });
}

std::vector<std::string> gpu_nodes(const std::filesystem::path& folder) {
  static constexpr std::string_view kNvidia = "nvidia";
  std::vector<std::string> nodes = nodes_in(folder, [](std::string_view name) {
    return name == "nvidiactl" || name == "nvidia-uvm" || name == "kfd" ||
           (name.starts_with(kNvidia) && parse_count(name.substr(kNvidia.size())));
  });
  for (std::string& node :
       nodes_in(folder / "dri", [](std::string_view name) { return name.starts_with("renderD"); }))
    nodes.push_back(std::move(node));
  return nodes;
}

long landlock_abi() noexcept {
  return syscall(kCreateRuleset, nullptr, 0, kAskVersion);
}

bool has_landlock() noexcept {
  return landlock_abi() >= kLeastAbi;
}

void check_sandbox(const SandboxOptions& options) {
  if (options.mode == Sandboxing::required && !has_landlock())
    throw UsageError(
        "--sandbox required: this kernel has no Landlock of ABI 2 (Linux 5.19 or later, with "
        "landlock among its security modules: /sys/kernel/security/lsm); use --sandbox on");
  const char* const missing = missing_call_filter();
  if (options.mode == Sandboxing::required && missing != nullptr)
    throw UsageError("--sandbox required: {}; use --sandbox on", missing);
  if (options.mode == Sandboxing::off && !options.allowed.empty())
    throw UsageError("--sandbox off and --sandbox-allow: give one");
  for (const std::string& path : options.allowed) {
    if (!path.starts_with('/') || !Descriptor{open(path.c_str(), O_PATH | O_CLOEXEC)})
      throw invalid_value("--sandbox-allow", path,
                          "the absolute path of a file or folder that is there");
  }
}

void enter_sandbox(const SandboxOptions& options, bool gpus) {
  if (options.mode == Sandboxing::off) return;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw_refused("prctl", "PR_SET_NO_NEW_PRIVS");
  drop_capabilities();
  limit(RLIMIT_CORE, "RLIMIT_CORE", 0);
  const bool landlock = options.mode == Sandboxing::required || has_landlock();
  // What is allowed is there to be written.
  if (options.allowed.empty())
    limit(RLIMIT_FSIZE, "RLIMIT_FSIZE", gpus && landlock ? kGpuFileBytes : 0);
  if (landlock) enter_landlock(options, gpus);
  if (options.mode == Sandboxing::required || missing_call_filter() == nullptr) enter_call_filter();
}

}  // namespace rdmameter
