// SPDX-License-Identifier: Apache-2.0
// As QEMU's coroutines: ucontext begins a stack; after that setjmp and longjmp change stacks, since
// swapcontext calls the kernel each time, for the mask of signals. glibc's check of longjmp takes a
// change to a stack below for an error.
#undef _FORTIFY_SOURCE
#define _FORTIFY_SOURCE 0

#include "topologies/simulator/fiber.h"

#include <ucontext.h>

#include <cerrno>
#include <system_error>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define RDMAMETER_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RDMAMETER_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef RDMAMETER_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace rdmameter {
namespace {

// begin_switch(): where the stack that is left keeps its own (null: it is never come back to), and
// the stack that is gone to. end_switch(): the former, and out: the stack that was left.
#ifdef RDMAMETER_ADDRESS_SANITIZER
constexpr std::size_t kStackBytes = 512 << 10;  // a sanitizer's frames are larger
constexpr auto begin_switch = __sanitizer_start_switch_fiber;
constexpr auto end_switch = __sanitizer_finish_switch_fiber;
#else
constexpr std::size_t kStackBytes = 128 << 10;  // formatting an error is what takes most of it
void begin_switch(void**, const void*, std::size_t) {}
void end_switch(void*, const void**, std::size_t*) {}
#endif

thread_local Fiber* running = nullptr;

}  // namespace

SparseMemory sparse_memory(std::size_t bytes, const std::string& use) {
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED) {
    const int error = errno;
    throw std::system_error(error, std::generic_category(), "mmap of a simulated rank's " + use);
  }
  return {static_cast<std::byte*>(begin), Unmap{bytes}};
}

Fiber::Fiber(std::function<void()> body)
    : body_(std::move(body)), stack_(sparse_memory(kStackBytes, "stack")) {}

Fiber::~Fiber() {
#ifdef RDMAMETER_ADDRESS_SANITIZER
  ASAN_UNPOISON_MEMORY_REGION(stack_.get(), kStackBytes);  // frames that never returned
#endif
}

/// The first time, on the fiber's own stack. Its frame never returns, so that a sanitizer's marks
/// around its variables would stay.
[[gnu::no_sanitize_address]] void Fiber::begin() {
  begun_ = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack_.get();
  context.uc_stack.ss_size = kStackBytes;
  context.uc_link = nullptr;
  makecontext(&context, &Fiber::enter, 0);
  setcontext(&context);
}

void Fiber::resume() {
  running = this;
  begin_switch(&caller_fake_stack_, stack_.get(), kStackBytes);
  if (_setjmp(caller_) == 0) {
    if (begun_) _longjmp(own_, 1);
    begin();
  }
  Fiber& self = *running;
  running = nullptr;
  end_switch(self.caller_fake_stack_, nullptr, nullptr);
}

void Fiber::wait() {
  begin_switch(&running->own_fake_stack_, running->caller_stack_, running->caller_stack_bytes_);
  if (_setjmp(running->own_) == 0) _longjmp(running->caller_, 1);
  end_switch(running->own_fake_stack_, &running->caller_stack_, &running->caller_stack_bytes_);
}

void Fiber::enter() {
  Fiber& self = *running;
  end_switch(nullptr, &self.caller_stack_, &self.caller_stack_bytes_);
  self.body_();
  self.ended_ = true;
  begin_switch(nullptr, self.caller_stack_, self.caller_stack_bytes_);
  _longjmp(self.caller_, 1);
}

}  // namespace rdmameter
