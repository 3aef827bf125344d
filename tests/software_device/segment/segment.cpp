// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/segment/segment.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <mutex>
#include <span>
#include <string>

#include "tests/software_device/device/settings.h"
#include "tests/software_device/segment/clock.h"
#include "tests/software_device/segment/tables.h"
#include "tests/software_device/wire/agent.h"

namespace rdmameter::software {
namespace {

constexpr std::uint64_t kSegmentBytes = 16ULL << 30;  // sparse: only what is used takes memory
constexpr std::uint64_t kMagic = 0x736f667464657606;  // its last byte: the version of the layout
constexpr std::uint64_t kBlockAlignment = 64, kPage = 4096;
constexpr int kSmallestBlock = 6;

std::mutex attach_mutex;
int segment_fd = -1;
std::uint32_t process_index = 0;

std::string segment_path() {
  return "/dev/shm/rdmameter-device-" + std::to_string(getuid()) + "-" + settings().session;
}

/// Holds the file's lock, which may already be this process's: who comes, who goes and who cleans
/// up do it one after the other.
class FileLock {
 public:
  FileLock() { flock(segment_fd, LOCK_EX); }
  ~FileLock() { flock(segment_fd, LOCK_UN); }
  FileLock(FileLock&&) = delete;
};

/// All that a process has of QPs or keys; with the tables' lock held.
template <class Entries, class Number>
void free_entries(Entries& entries, Number number, std::uint32_t process) {
  for (auto& entry : entries)
    if (entry.taken && entry.process == process) {
      (entry.*number).store(0);
      free_entry(entry);
    }
}

void purge(std::uint32_t process) {
  Tables& all = tables();
  const std::lock_guard locked(all.lock);
  if (all.processes[process].taken != 0) {  // the tables are long, and who ends well has nothing
    free_entries(all.keys, &KeyEntry::key, process);
    free_entries(all.qps, &QpEntry::qpn, process);
  }
  for (CmEntry& entry : std::span(all.cm_ids).first(all.cm_id_count))
    if (entry.process == process) entry.id = 0;
  all.processes[process].pid.store(0);
}

bool takes_part(std::uint32_t process) {
  const std::uint32_t pid = pid_of(process);
  return pid != 0 && pid != own_pid() && !process_ended(pid);
}

/// Does a live process other than this one take part?
bool others_take_part() {
  std::uint32_t process = 0;
  while (process < kProcesses && !takes_part(process)) ++process;
  return process < kProcesses;
}

void purge_the_ended() {
  for (std::uint32_t i = 0; i < kProcesses; ++i)
    if (pid_of(i) != 0 && !takes_part(i)) purge(i);
}

/// Opens the session's file and takes its lock. The last process of the session may have removed
/// the file in between: then the name leads to another one.
int open_and_lock() {
  while (true) {
    segment_fd = open(segment_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (segment_fd < 0) return errno;
    if (flock(segment_fd, LOCK_EX) != 0) return errno;
    struct stat status {};
    if (fstat(segment_fd, &status) != 0) return errno;
    if (status.st_nlink != 0) return 0;
    close(segment_fd);
  }
}

int map_file() {
  void* const mapped = mmap(nullptr, kSegmentBytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, segment_fd, 0);
  if (mapped == MAP_FAILED) return errno;
  segment_base = static_cast<std::byte*>(mapped);
  return 0;
}

/// An unused segment begins anew: what killed processes left in it is gone.
int begin_anew() {
  if (ftruncate(segment_fd, 0) != 0 || ftruncate(segment_fd, kSegmentBytes) != 0) return errno;
  tables().used_bytes = (sizeof(Tables) + kPage - 1) / kPage * kPage;
  tables().agreement = settings().agreement;
  tables().magic.store(kMagic);
  return 0;
}

bool holds_tables() {
  struct stat status {};
  return fstat(segment_fd, &status) == 0 && status.st_size == static_cast<off_t>(kSegmentBytes) &&
         tables().magic.load() == kMagic;
}

/// Processes of one session execute each other's requests: all of them must have one device.
void agree() {
  const std::uint64_t agreement = tables().agreement;
  if (agreement == settings().agreement) return;
  die("session '" + settings().session +
      "': its other processes have another personality or wire: give all of them the same "
      "RDMAMETER_DEVICE_PERSONALITY and RDMAMETER_DEVICE_WIRE, or this one another session");
}

int take_part() {
  for (std::uint32_t i = 0; i < kProcesses; ++i)
    if (tables().processes[i].pid.load() == 0) {
      tables().processes[i].pid.store(own_pid());
      process_index = i;
      return 0;
    }
  return EUSERS;
}

/// A forked child has the parent's mapping, but none of its objects: it attaches on its own.
void forget_segment() {
  if (segment_fd >= 0) close(segment_fd);
  segment_fd = -1;
  segment_base = nullptr;
}

int attach_first_time() {
  static const int once = pthread_atfork(nullptr, nullptr, forget_segment);
  static_cast<void>(once);
  // Peers reach this process's memory by process_vm_readv() also where Yama restricts that.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (const int error = open_and_lock(); error != 0) return error;
  const FileLock locked;
  if (const int error = map_file(); error != 0) return error;
  if (holds_tables() && others_take_part())
    purge_the_ended();
  else if (const int error = begin_anew(); error != 0)
    return error;
  agree();
  return take_part();
}

/// The last one removes the file. Mappings stay: another thread may still be at work.
struct Leaving {
  ~Leaving() {
    const std::lock_guard one_at_a_time(attach_mutex);
    if (segment_fd < 0) return;
    const FileLock locked;
    purge(process_index);
    if (!others_take_part()) unlink(segment_path().c_str());
  }
};
const Leaving leaving;

int log2_up(std::size_t bytes) {
  const int needed = std::bit_width(bytes - 1);
  return needed < kSmallestBlock ? kSmallestBlock : needed;
}

}  // namespace

int attach() {
  const std::lock_guard one_at_a_time(attach_mutex);
  if (segment_base != nullptr) return 0;
  const int error = attach_first_time();
  if (error != 0)
    forget_segment();
  else
    start_agent();
  return error;
}

std::uint32_t own_process() noexcept {
  return process_index;
}

std::uint32_t pid_of(std::uint32_t process) noexcept {
  return tables().processes[process].pid.load(std::memory_order_acquire);
}

bool process_gone(std::uint32_t process) noexcept {
  struct Answer {
    std::uint64_t until_ns = 0;
    std::uint32_t pid = 0;
    bool gone = false;
  };
  constexpr std::uint64_t kValid_ns = 20'000'000;
  static thread_local std::array<Answer, kProcesses> answers;
  if (process == process_index) return false;
  const std::uint32_t pid = pid_of(process);
  if (pid == 0) return true;
  Answer& answer = answers[process];
  const std::uint64_t now = now_ns();
  if (answer.pid != pid || now > answer.until_ns)
    answer = {now + kValid_ns, pid, process_ended(pid)};
  return answer.gone;
}

std::uint64_t allocate(std::size_t bytes) noexcept {
  Tables& all = tables();
  const int order = log2_up(bytes);
  const std::lock_guard locked(all.lock);
  if (const std::uint64_t block = all.free_blocks[order]; block != 0) {
    all.free_blocks[order] = *reinterpret_cast<std::uint64_t*>(segment_at(block));
    return block;
  }
  const std::uint64_t size = 1ULL << order;
  const std::uint64_t alignment = size < kPage ? kBlockAlignment : kPage;
  const std::uint64_t block = (all.used_bytes + alignment - 1) / alignment * alignment;
  if (block + size > kSegmentBytes) return 0;
  all.used_bytes = block + size;
  return block;
}

void release(std::uint64_t offset, std::size_t bytes) noexcept {
  Tables& all = tables();
  const int order = log2_up(bytes);
  const std::lock_guard locked(all.lock);
  *reinterpret_cast<std::uint64_t*>(segment_at(offset)) = all.free_blocks[order];
  all.free_blocks[order] = offset;
}

}  // namespace rdmameter::software
