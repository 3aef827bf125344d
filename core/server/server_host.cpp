// SPDX-License-Identifier: Apache-2.0
#include "core/server/server_host.h"

#include "core/base/error.h"

namespace rdmameter {
namespace {

double mib(std::uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

Account::RunningCase Account::take(const CaseNeeds& needs) {
  if (needs.memory_bytes > limits_.memory_bytes)
    throw Unsupported(
        "buffers and queues of {:.1f} MiB, while the server gives its clients {:.1f} "
        "MiB: use a smaller --size, --qps, --depth or --rx-depth, or raise `rdmameter "
        "serve --max-memory` there",
        mib(needs.memory_bytes), mib(limits_.memory_bytes));
  if (needs.threads > limits_.threads)
    throw Unsupported(
        "{} threads, while the server gives its clients {}: use fewer --threads (--bidirectional "
        "takes twice as many), or raise `rdmameter serve --max-threads` there",
        needs.threads, limits_.threads);
  const std::lock_guard lock{mutex_};
  if (needs.memory_bytes > limits_.memory_bytes - taken_.memory_bytes)
    throw MeasurementError(
        "buffers and queues of {:.1f} MiB beside the {:.1f} MiB of other clients, while the server "
        "gives {:.1f} MiB in all: try again later, or raise `rdmameter serve --max-memory` there",
        mib(needs.memory_bytes), mib(taken_.memory_bytes), mib(limits_.memory_bytes));
  if (needs.threads > limits_.threads - taken_.threads)
    throw MeasurementError(
        "{} threads beside the {} of other clients, while the server gives {} in all: "
        "try again later, or raise `rdmameter serve --max-threads` there",
        needs.threads, taken_.threads, limits_.threads);
  taken_.memory_bytes += needs.memory_bytes;
  taken_.threads += needs.threads;
  const bool alone = ++running_ == 1;
  return {needs, alone, ++started_};
}

bool Account::is_shared(const RunningCase& one) {
  const std::lock_guard lock{mutex_};
  return !one.alone || started_ != one.number;
}

void Account::give_back(const CaseNeeds& needs) noexcept {
  const std::lock_guard lock{mutex_};
  taken_.memory_bytes -= needs.memory_bytes;
  taken_.threads -= needs.threads;
  --running_;
}

void ServerHost::begin_case(const CaseNeeds& needs) {
  if (running_) throw MeasurementError("a session begins a case within a case");
  running_ = account_.take(needs);
}

void ServerHost::end_case() noexcept {
  if (running_) account_.give_back(running_->needs);
  running_.reset();
}

}  // namespace rdmameter
