// SPDX-License-Identifier: Apache-2.0
// A flow of control with a stack of its own, which runs in turn with others on one thread.
#pragma once

#include <setjmp.h>
#include <sys/mman.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace rdmameter {

struct Unmap {
  std::size_t bytes = 0;
  void operator()(std::byte* begin) const noexcept { munmap(begin, bytes); }
};
/// Untouched pages of it take no memory.
using SparseMemory = std::unique_ptr<std::byte, Unmap>;

/// Of a simulated rank. @param use  "stack", for the text of an error
/// @throws std::system_error
SparseMemory sparse_memory(std::size_t bytes, const std::string& use);

class Fiber {
 public:
  /// @param body  throws nothing
  explicit Fiber(std::function<void()> body);
  Fiber(Fiber&&) = delete;
  /// The objects on the stack of a fiber that has not ended are not destroyed.
  ~Fiber();

  /// Runs it until it waits or ends. @pre it has not ended; not to be called by a fiber
  void resume();
  bool ended() const { return ended_; }

  /// Suspends the running fiber: returns to resume().
  static void wait();

 private:
  void begin();
  static void enter();

  std::function<void()> body_;
  jmp_buf own_, caller_;  ///< where it goes on, and who has resumed it
  const SparseMemory stack_;
  bool begun_ = false, ended_ = false;
  // What a sanitizer must know of the two stacks.
  void *own_fake_stack_ = nullptr, *caller_fake_stack_ = nullptr;
  const void* caller_stack_ = nullptr;
  std::size_t caller_stack_bytes_ = 0;
};

}  // namespace rdmameter
