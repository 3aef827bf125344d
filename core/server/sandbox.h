// SPDX-License-Identifier: Apache-2.0
// What a session's process can no longer do, whatever its client makes of it: use the capabilities
// of root, gain privileges, write files, read those that no session needs, make system calls that
// none needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rdmameter {

enum class Sandboxing : std::uint8_t {
  off,
  on,        ///< as far as the kernel can
  required,  ///< without Landlock or a filter of system calls no client is served
};

struct SandboxOptions {
  Sandboxing mode = Sandboxing::on;
  std::vector<std::string> allowed = {};  ///< files and folders to read and write as well
};

/// The version of this kernel's Landlock; -1: it has none. 2 (Linux 5.19) controls files, 3 (6.2)
/// their truncation as well, 6 (6.12) signals to processes outside.
long landlock_abi() noexcept;
/// Has it one that is of use here, of ABI 2 or later?
bool has_landlock() noexcept;

/// The devices that measuring takes: those of verbs and rdma_cm that are there now (a device that
/// is plugged in later is for the next session), and not umad and issm, which send to
/// the fabric's manager.
/// @param folder  the kernel's, with its names
std::vector<std::string> verbs_nodes(const std::filesystem::path& folder = "/dev/infiniband");

/// The devices that memory of GPUs takes, as those of verbs_nodes(): NVIDIA's (nvidiactl,
/// nvidia-uvm, a node for each GPU) and AMD's (kfd, dri/renderD*).
std::vector<std::string> gpu_nodes(const std::filesystem::path& folder = "/dev");

/// @throws UsageError  what is required is not there, or a path cannot be opened
void check_sandbox(const SandboxOptions& options);

/// Shuts this process in, for good. It must not have begun a second thread: Landlock and the
/// filter of system calls hold for the calling thread and those that it begins.
/// @param gpus  may it have GPUs opened? Then what their drivers open is open, too
/// @throws VerbsError  the kernel refuses
void enter_sandbox(const SandboxOptions& options, bool gpus);

}  // namespace rdmameter
