// SPDX-License-Identifier: Apache-2.0
// Filling and checking gigabytes takes seconds. Such work checks now and then whether its result
// is still wanted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

namespace rdmameter {

/// Returns where the work under way is still wanted, else throws why not (Interrupted, or that the
/// peer has gone). Empty: it always is.
using CancelCheck = std::function<void()>;

/// Bytes worked on between two looks: some milliseconds, on a slow emulated machine a tenth of a
/// second. Whole words, whole pages.
inline constexpr std::size_t kBytesPerLook = 16 << 20;

/// Looks each time that so many bytes have been worked on.
class Looks {
 public:
  explicit Looks(const CancelCheck& cancel_check) : cancel_check_(cancel_check) {}

  /// Notes that so many more bytes are done. @throws what the CancelCheck throws
  void after(std::size_t bytes) {
    since_ += bytes;
    if (since_ < kBytesPerLook) return;
    since_ = 0;
    if (cancel_check_) cancel_check_();
  }

 private:
  const CancelCheck& cancel_check_;
  std::size_t since_ = 0;
};

/// Calls `work(offset, length)` for one part of `bytes` after the other, and looks in between.
template <class Work>
void in_parts(std::size_t bytes, Looks& looks, const Work& work) {
  for (std::size_t offset = 0; offset < bytes; offset += kBytesPerLook) {
    const std::size_t length = std::min(bytes - offset, kBytesPerLook);
    work(offset, length);
    looks.after(length);
  }
}

}  // namespace rdmameter
