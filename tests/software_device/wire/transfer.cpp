// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/transfer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/software_device/segment/segment.h"
#include "tests/software_device/wire/agent.h"
#include "tests/software_device/wire/gpu_bytes.h"

namespace rdmameter::software {
namespace {

constexpr std::size_t kWord = 8;

/// ThreadSanitizer does not see a device's DMA: programs may poll on memory that it writes.
#ifdef RDMAMETER_SANITIZED
#define RDMAMETER_AS_DMA __attribute__((no_sanitize("thread"), noinline))
#else
#define RDMAMETER_AS_DMA
#endif

RDMAMETER_AS_DMA void copy_word(std::byte* to, const std::byte* from) {
  std::uint64_t word;
  __builtin_memcpy(&word, from, kWord);
  __builtin_memcpy(to, &word, kWord);
}

/// In ascending order, the last word in one store.
RDMAMETER_AS_DMA void copy_as_dma(std::byte* to, const std::byte* from, std::size_t length) {
  std::size_t done = 0;
#ifndef RDMAMETER_SANITIZED
  if (constexpr std::size_t kTail = 64; length > 2 * kTail) {  // sanitizers replace memcpy()
    done = length - kTail;
    std::memcpy(to, from, done);
  }
#endif
  if (length < kWord) {
    for (; done < length; ++done) const_cast<volatile std::byte*>(to)[done] = from[done];
    return;
  }
  for (; done + kWord < length; done += kWord) {
    copy_word(to + done, from + done);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  copy_word(to + length - kWord, from + length - kWord);
}

/// Within this process; `to` may be larger.
void copy_pieces(const Pieces& from, const Pieces& to) {
  std::size_t in = 0, out = 0, in_at = 0, out_at = 0;
  for (std::size_t left = from.bytes(); left != 0;) {
    const iovec& source = from.data()[in];
    const iovec& sink = to.data()[out];
    const std::size_t length = std::min(source.iov_len - in_at, sink.iov_len - out_at);
    std::byte* const into = static_cast<std::byte*>(sink.iov_base) + out_at;
    const std::byte* const out_of = static_cast<const std::byte*>(source.iov_base) + in_at;
    if (!copy_gpu_bytes(into, out_of, length)) copy_as_dma(into, out_of, length);
    left -= length;
    if ((in_at += length) == source.iov_len) ++in, in_at = 0;
    if ((out_at += length) == sink.iov_len) ++out, out_at = 0;
  }
}

Moved outcome(ssize_t moved, std::size_t wanted) {
  if (moved == static_cast<ssize_t>(wanted)) return Moved::all;
  return moved < 0 && errno == ESRCH ? Moved::lost_process : Moved::bad_address;
}

Moved read_from(const Pieces& from, const Pieces& to) {
  return outcome(process_vm_readv(static_cast<pid_t>(pid_of(from.process())), to.data(), to.count(),
                                  from.data(), from.count(), 0),
                 from.bytes());
}

Moved write_to(const Pieces& from, const Pieces& to) {
  return outcome(process_vm_writev(static_cast<pid_t>(pid_of(to.process())), from.data(),
                                   from.count(), to.data(), to.count(), 0),
                 from.bytes());
}

/// This process is neither: it moves what two others have left on the wire.
Moved carry(const Pieces& from, const Pieces& to) {
  std::vector<std::byte> bytes(from.bytes());
  const Pieces here = Pieces::here(bytes.data(), bytes.size());
  const Moved read = read_from(from, here);
  return read == Moved::all ? write_to(here, to) : read;
}

/// What the kernel does not do.
Moved move_by_agents(const Pieces& from, const Pieces& to) {
  std::vector<std::byte> bytes(from.bytes());
  const Pieces here = Pieces::here(bytes.data(), bytes.size());
  if (from.process() == own_process())
    copy_pieces(from, here);
  else if (const Moved read = ask_agent(from, bytes, false); read != Moved::all)
    return read;
  if (to.process() != own_process()) return ask_agent(to, bytes, true);
  copy_pieces(here, to);
  return Moved::all;
}

}  // namespace

Pieces Pieces::here(const void* data, std::size_t length) {
  Pieces made(own_process());
  made.add(reinterpret_cast<std::uint64_t>(data), length);
  return made;
}

void Pieces::add(std::uint64_t address, std::size_t length) {
  if (length == 0 || count_ == kMost) return;
  parts_[count_++] = {reinterpret_cast<void*>(address), length};
  bytes_ += length;
}

Pieces Pieces::first(std::size_t length) const {
  Pieces made(process_);
  for (std::size_t i = 0; i < count_ && made.bytes_ < length; ++i)
    made.add(reinterpret_cast<std::uint64_t>(parts_[i].iov_base),
             std::min(parts_[i].iov_len, length - made.bytes_));
  return made;
}

Pieces Pieces::without_first(std::size_t length) const {
  Pieces made(process_);
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t skipped = std::min(parts_[i].iov_len, length);
    made.add(reinterpret_cast<std::uint64_t>(parts_[i].iov_base) + skipped,
             parts_[i].iov_len - skipped);
    length -= skipped;
  }
  return made;
}

Pieces Pieces::with_last_word_apart() const {
  if (bytes_ <= kWord) return *this;
  Pieces made = first(bytes_ - kWord);
  const Pieces last = without_first(bytes_ - kWord);
  for (std::size_t i = 0; i < last.count_; ++i)
    made.add(reinterpret_cast<std::uint64_t>(last.parts_[i].iov_base), last.parts_[i].iov_len);
  return made;
}

Moved transfer(const Pieces& from, const Pieces& to) {
  if (from.bytes() == 0) return Moved::all;
  const bool from_here = from.process() == own_process(), to_here = to.process() == own_process();
  if (from_here && to_here) return copy_pieces(from, to), Moved::all;
  if (to.bytes() > from.bytes()) return transfer(from, to.first(from.bytes()));
  const Moved moved = from_here ? write_to(from, to)
                      : to_here ? read_from(from, to)
                                : carry(from, to);
  return moved == Moved::bad_address && has_agent() ? move_by_agents(from, to) : moved;
}

}  // namespace rdmameter::software
