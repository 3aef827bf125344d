// SPDX-License-Identifier: Apache-2.0
// How bandwidth loops that load each other, on several threads or both ways, measure under full
// load: no window opens before all have warmed up, and no loop stops sending before all windows are
// closed. Each keeps its own window, timed by its own clock; the barrier is passed on the rare path.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rdmameter {

class WindowBarrier {
 public:
  enum class Step : std::uint8_t { warm, closed };
  static constexpr std::size_t kSteps = 2;

  /// @param loops  of this end that pass it
  /// @param peer   does the other end send as well? Then it must notify() of its steps.
  explicit WindowBarrier(std::uint32_t loops, bool peer = false) : loops_(loops), peer_(peer) {}
  WindowBarrier(WindowBarrier&&) = delete;

  /// A loop has come to this step. To be called once for each.
  void reach(Step step) noexcept {
    if (reached_[index(step)].fetch_add(1, std::memory_order_acq_rel) + 1 == loops_ &&
        on_last_ != nullptr)
      on_last_(context_);
  }
  /// Have all of this end's? And the peer's?
  bool reached_here(Step step) const noexcept {
    return reached_[index(step)].load(std::memory_order_acquire) >= loops_;
  }
  bool reached(Step step) const noexcept {
    return reached_here(step) && (!peer_ || peer_reached(step));
  }

  /// The peer has come to this step.
  void notify(Step step) noexcept {
    peer_reached_[index(step)].store(true, std::memory_order_release);
  }

  bool peer_reached(Step step) const noexcept {
    return peer_reached_[index(step)].load(std::memory_order_acquire);
  }

  /// Sets the function that the last loop to come to a step calls, outside of every window. To be
  /// set before the loops run.
  void on_last(void (*call)(void*), void* context) noexcept {
    on_last_ = call;
    context_ = context;
  }

 private:
  static constexpr std::size_t index(Step step) { return static_cast<std::size_t>(step); }

  const std::uint32_t loops_;
  const bool peer_;
  void (*on_last_)(void*) = nullptr;
  void* context_ = nullptr;
  std::atomic<std::uint32_t> reached_[kSteps]{};
  std::atomic<bool> peer_reached_[kSteps]{};
};

}  // namespace rdmameter
