// SPDX-License-Identifier: Apache-2.0
// The measured loop allocates nothing, takes no lock and makes no system call of its own.
// Allocation and locking are counted by standing in their functions' way; a system call ends the
// child process that runs the loop under a seccomp filter.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/null/null_case.h"

namespace {
std::atomic<bool> watching{false};
std::atomic<std::uint64_t> allocations{0}, locks{0};
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size) {
  if (watching) ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  if (watching) ++allocations;
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  using Lock = int (*)(pthread_mutex_t*);
  static const auto next = reinterpret_cast<Lock>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  if (watching) ++locks;
  return next(mutex);
}

namespace rdmameter {
namespace {

std::vector<TestCase> all_cases() {
  std::vector<TestCase> list;
  for (const Transport transport : {Transport::rc, Transport::uc, Transport::ud})
    list.push_back(null_case(Opcode::send, Pattern::ping_pong, transport));
  for (const Transport transport : {Transport::rc, Transport::uc})
    list.push_back(null_case(Opcode::rdma_write, Pattern::ping_pong, transport));
  list.push_back(null_case(Opcode::rdma_read, Pattern::completion_latency));
  for (const Opcode opcode : {Opcode::send, Opcode::rdma_write, Opcode::rdma_read})
    list.push_back(null_case(opcode, Pattern::bandwidth));
  list.back().qps = 4;
  for (const Opcode opcode : {Opcode::send_imm, Opcode::write_imm})
    list.push_back(null_case(opcode, Pattern::ping_pong, Transport::uc));
  for (const Opcode opcode : {Opcode::fetch_add, Opcode::cmp_swap, Opcode::atomic_write})
    list.push_back(null_case(opcode, Pattern::bandwidth));
#ifdef RDMAMETER_IBV_WR_FLUSH
  list.push_back(null_case(Opcode::flush, Pattern::bandwidth));
#endif
  for (const Opcode opcode : {Opcode::send, Opcode::send_imm})
    list.push_back(null_case(opcode, Pattern::bandwidth, Transport::ud));
  list.back().qps = 3;
  list.back().queues.cq_sharing = CqSharing::per_qp;
  for (const Opcode opcode : {Opcode::send, Opcode::rdma_write})
    list.push_back(null_case(opcode, Pattern::open_loop));
  const std::size_t classic = list.size();
  for (std::size_t i = 0; i < classic; ++i) {
    list.push_back(list[i]);
    list.back().queues.api = list.back().queues.cq = Interface::extended;
  }
  for (const char* mix : {"", "read:40+send:30+write:20+fetch_add:10"}) {
    list.push_back(null_case(Opcode::mix, Pattern::open_loop));
    list.back().mix = mix;
  }
  list.push_back(list[classic]);
  list.back().queues.timestamps = 1;
  return list;
}

TEST(MeasuredPath, NeitherAllocatesNorLocks) {
  for (const TestCase& test_case : all_cases()) {
    NullSide runner{test_case};
    watching = true;
    const LoopResult end = runner.run();
    watching = false;
    EXPECT_EQ(end.why, LoopResult::Why::done);
  }
  EXPECT_EQ(allocations.exchange(0), 0U);
  EXPECT_EQ(locks.exchange(0), 0U);
}

TEST(MeasuredPath, TheWatchOnItWorks) {
  watching = true;
  ::operator delete(::operator new(1));
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  watching = false;
  pthread_mutex_unlock(&mutex);
  EXPECT_EQ(allocations.exchange(0), 2U);
  EXPECT_EQ(locks.exchange(0), 1U);
}

/// From here on any system call but exit_group kills the process.
void forbid_system_calls() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  sock_fprog program{.len = 4, .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(77);
}

/// @return the status of a child that runs the loop where system calls are forbidden
int run_without_system_calls(const TestCase& test_case) {
  NullSide runner{test_case};
  const pid_t child = fork();
  if (child == 0) {
    forbid_system_calls();
    const LoopResult end = runner.run();
    syscall(SYS_exit_group, end.why == LoopResult::Why::done ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST(MeasuredPath, MakesNoSystemCall) {
  for (const TestCase& test_case : all_cases()) {
    const int status = run_without_system_calls(test_case);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp filters here";
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  }
}

TEST(MeasuredPath, AYieldingWaitIsASystemCallAndIsCaught) {
  TestCase test_case = null_case(Opcode::send, Pattern::ping_pong, Transport::ud);
  test_case.wait = Wait::yield;
  NullSide runner{test_case, Role::initiator, {.lose_every = 10}};
  const pid_t child = fork();
  if (child == 0) {
    forbid_system_calls();
    runner.run();
    syscall(SYS_exit_group, 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace rdmameter
