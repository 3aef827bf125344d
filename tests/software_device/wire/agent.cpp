// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/agent.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <thread>

#include "tests/software_device/segment/tables.h"

namespace rdmameter::software {
namespace {

/// Returns early, too.
void wait_while(std::atomic<std::uint32_t>& state, std::uint32_t value) {
  constexpr timespec kLooks{.tv_sec = 0, .tv_nsec = 20'000'000};
  syscall(SYS_futex, &state, FUTEX_WAIT, value, &kLooks, nullptr, 0);
}

void set(std::atomic<std::uint32_t>& state, std::uint32_t value) {
  state.store(value);
  syscall(SYS_futex, &state, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void serve(Mailbox& mailbox) {
  for (;;) {
    if (mailbox.state.load() != Mailbox::asked) {
      wait_while(mailbox.state, mailbox.state.load());
      continue;
    }
    const auto* const own = reinterpret_cast<const std::byte*>(mailbox.address);
    const Pieces mine = Pieces::here(own, mailbox.length);
    const Pieces theirs = Pieces::here(mailbox.bytes.data(), mailbox.length);
    transfer(mailbox.write ? theirs : mine, mailbox.write ? mine : theirs);
    set(mailbox.state, Mailbox::answered);
  }
}

bool ask(std::uint32_t owner, std::uint64_t address, std::span<std::byte> bytes, bool write) {
  Mailbox& mailbox = tables().mailboxes[owner];
  const std::lock_guard locked(mailbox.lock);
  mailbox.write = write;
  mailbox.address = address;
  mailbox.length = bytes.size();
  if (write) std::ranges::copy(bytes, mailbox.bytes.begin());
  set(mailbox.state, Mailbox::asked);
  while (mailbox.state.load() != Mailbox::answered) {
    if (process_gone(owner)) return false;
    wait_while(mailbox.state, Mailbox::asked);
  }
  if (!write) std::copy_n(mailbox.bytes.begin(), bytes.size(), bytes.begin());
  return true;
}

}  // namespace

bool has_agent() {
  static const bool wanted = std::getenv("RDMAMETER_DEVICE_AGENT") != nullptr;
  return wanted;
}

void start_agent() {
  if (!has_agent()) return;
  tables().mailboxes[own_process()].state.store(Mailbox::idle);  // not a killed predecessor's
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(serve, std::ref(tables().mailboxes[own_process()])).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Moved ask_agent(const Pieces& place, std::span<std::byte> bytes, bool write) {
  for (std::size_t i = 0; i < place.count(); ++i) {
    auto address = reinterpret_cast<std::uint64_t>(place.data()[i].iov_base);
    for (std::size_t left = place.data()[i].iov_len; left != 0;) {
      const std::size_t length = std::min(left, sizeof(Mailbox::bytes));
      if (!ask(place.process(), address, bytes.first(length), write)) return Moved::lost_process;
      bytes = bytes.subspan(length);
      address += length;
      left -= length;
    }
  }
  return Moved::all;
}

}  // namespace rdmameter::software
