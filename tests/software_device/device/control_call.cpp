// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/control_call.h"

#include <ctime>

#include "tests/software_device/device/settings.h"
#include "tests/software_device/segment/clock.h"

namespace rdmameter::software {
namespace {

/// Sleeps until shortly before a time: a long call leaves the CPU to others, as a driver does.
void sleep_before(std::uint64_t until_ns) {
  constexpr std::uint64_t kWakingTakes_ns = 100'000;
  const std::uint64_t now = now_ns();
  if (until_ns < now + 2 * kWakingTakes_ns) return;
  const std::uint64_t wake_ns = until_ns - kWakingTakes_ns;
  const timespec at{static_cast<std::time_t>(wake_ns / 1'000'000'000),
                    static_cast<long>(wake_ns % 1'000'000'000)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

void last_until(std::uint64_t until_ns) {
  sleep_before(until_ns);
  while (now_ns() < until_ns) {
  }
}

void spend(std::uint64_t cost_ns) {
  if (cost_ns != 0) last_until(now_ns() + cost_ns);
}

std::uint64_t duration_ns(Verb verb, std::uint64_t pages) {
  const Costs& costs = settings().costs;
  return costs.call_ns[index(verb)] + pages * costs.page_ns;
}

}  // namespace

ControlCall::ControlCall(Verb verb, std::uint64_t pages)
    : until_ns_(now_ns() + duration_ns(verb, pages)), injected_(begin_call(verb)) {}

ControlCall::~ControlCall() {
  last_until(until_ns_);
}

void spend_lock() {
  spend(settings().costs.lock_ns);
}

void spend_fetch() {
  spend(settings().costs.fetch_ns);
}

void spend_receive() {
  spend(settings().costs.receive_ns);
}

}  // namespace rdmameter::software
