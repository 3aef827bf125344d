// SPDX-License-Identifier: Apache-2.0
#include "core/engine/thread_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <cassert>
#include <cmath>
#include <exception>
#include <system_error>
#include <thread>

#include "core/base/error.h"
#include "core/engine/account/load.h"
#include "core/engine/placement/affinity.h"
#include "core/instrument/histogram_data.h"

namespace rdmameter {
namespace {

/// Numbers add up; what is alike stays.
void add_numbers(nlohmann::ordered_json& sum, const nlohmann::ordered_json& more) {
  for (const auto& [key, value] : more.items())
    if (value.is_number_integer() && !key.ends_with("_per_qp"))
      sum[key] = sum[key].get<std::uint64_t>() + value.get<std::uint64_t>();
}

constexpr int kFailure = 2;

/// The one that failed by itself tells more than those that were flushed or stopped for it.
int tells(const LoopResult& end) {
  if (end.why == LoopResult::Why::done) return 0;
  if (end.why == LoopResult::Why::stopped) return 1;
  return end.status == IBV_WC_WR_FLUSH_ERR ? kFailure : kFailure + 1;
}

}  // namespace

ThreadGroup::ThreadGroup(const TestCase& test_case, Role role, std::uint64_t seed,
                         const MakeMember& make_member)
    : EndpointRunner(test_case, role, seed) {
  over_time_.reset();  // each member has its own
  const std::uint64_t sharers = role == Role::initiator ? test_case.sharers : 1;
  for (std::uint64_t i = 0; i < test_case.threads * sharers; ++i)
    members_.push_back(make_member(seed + 2 * i));
}

Introduction ThreadGroup::introduction() const {
  Introduction all = members_.front()->introduction();
  all.endpoint.reset();
  for (const auto& member : members_) all.threads.push_back(member->introduction());
  return all;
}

void ThreadGroup::connect(const Introduction& peer) {
  if (peer.threads.size() != members_.size())
    throw MeasurementError(
        fmt::format("the peer's message: threads has {} elements, and the case has {} threads",
                    peer.threads.size(), members_.size()));
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i]->connect(peer.threads[i]);
}

void ThreadGroup::establish() {
  for (const auto& member : members_) member->establish();
}

void ThreadGroup::record_effective(TestCase& test_case, const Introduction& peer) const {
  members_.front()->record_effective(test_case, peer);
  for (const auto& member : members_) {
    TestCase its = test_case;
    member->record_effective(its, peer);
    // A device that runs out of thread domains gives none to the last threads.
    test_case.queues.thread_domain =
        std::min(test_case.queues.thread_domain, its.queues.thread_domain);
  }
}

LoopResult ThreadGroup::run(Wait wait, std::span<const unsigned> cpus, const ClockChoice& clock,
                            StopFlag& stop) {
  const std::size_t count = members_.size();
  assert(cpus.empty() || cpus.size() >= count);
  cpus_.assign(cpus.begin(), cpus.end());
  std::vector<LoopResult> ends(count);
  std::vector<std::exception_ptr> errors(count);
  std::barrier start{static_cast<std::ptrdiff_t>(count)};
  const auto run_member = [&](std::size_t i) {
    std::optional<Pinned> pinned;
    try {
      pinned.emplace(cpus.empty() ? std::nullopt : std::optional(cpus[i]),
                     role_ == Role::initiator ? "--core" : "--peer-core");
    } catch (const std::exception&) {
      errors[i] = std::current_exception();
      stop.request(StopReason::sibling);
    }
    start.arrive_and_wait();
    try {
      if (stop.reason() != StopReason::sibling) ends[i] = members_[i]->run(wait, {}, clock, stop);
    } catch (const std::exception&) {
      errors[i] = std::current_exception();
    }
    if (tells(ends[i]) < kFailure && !errors[i]) return;
    stop.request(StopReason::sibling);
    abort_traffic();
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      try {
        threads.emplace_back(run_member, i);
      } catch (const std::system_error& error) {  // nobody starts without the others
        stop.request(StopReason::sibling);
        for (std::size_t missing = i; missing < count; ++missing) start.arrive_and_drop();
        errors[i] = std::make_exception_ptr(MeasurementError(
            fmt::format("thread {} of {} cannot be created ({}): use fewer --threads", i + 1, count,
                        error.code().message())));
        break;
      }
    }
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  add_up();
  return *std::ranges::max_element(ends, {}, tells);
}

/// The threads' tallies, as that of all. A thread's rate is its own, in its own window, all of them
/// under the same load; the window of all is the one in which their messages give the sum of their
/// rates.
void ThreadGroup::add_up() {
  double rate_per_ns = 0;
  tally_.latency = nullptr;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    EndpointRunner& member = *members_[i];
    const LoopTally& tally = member.tally();
    tally_.operations += tally.operations;
    tally_.total += tally.total;
    tally_.lost += tally.lost;
    tally_.duplicated += tally.duplicated;
    tally_.reordered += tally.reordered;
    tally_.doorbells += tally.doorbells;
    tally_.cqes += tally.cqes;
    tally_.polls += tally.polls;
    tally_.traffic_ns = std::max(tally_.traffic_ns, tally.traffic_ns);
    if (tally.elapsed_ns != 0)
      rate_per_ns += static_cast<double>(tally.operations) / static_cast<double>(tally.elapsed_ns);
    cpu_ns_ += member.cpu_ns();
    has_loop_ = has_loop_ || member.has_loop();
    told_.push_back(
        {{"core", nullptr}, {"operations", tally.operations}, {"elapsed_ns", tally.elapsed_ns}});
    if (!cpus_.empty()) told_.back()["core"] = cpus_[i];
    if (over_time_ == nullptr)
      over_time_ = member.take_over_time();
    else
      over_time_->add(*member.over_time());
    const std::unique_ptr<Histogram> samples = member.take_latency();
    if (samples == nullptr) {
      latency_.reset();
      continue;
    }
    if (latency_ != nullptr) latency_->add(*samples);
    const HistogramData data = snapshot(*samples);
    if (data.count != 0) told_.back()["mean_ns"] = mean(data);
  }
  if (rate_per_ns > 0)
    tally_.elapsed_ns = static_cast<std::uint64_t>(
        std::llround(static_cast<double>(tally_.operations) / rate_per_ns));
  tally_.progress.store(progress(), std::memory_order_relaxed);
}

void ThreadGroup::expect(const std::vector<std::uint64_t>& sent) {
  for (std::size_t i = 0; i < members_.size(); ++i) members_[i]->expect({sent[i]});
}

void ThreadGroup::pass(LoadGate& gate) {
  for (const auto& member : members_) member->pass(gate);
}

bool ThreadGroup::end_now() noexcept {
  bool begun = true;
  for (const auto& member : members_) begun = member->end_now() && begun;
  return begun;
}

void ThreadGroup::abort_traffic() noexcept {
  for (const auto& member : members_) member->abort_traffic();
}

std::optional<Verdict> ThreadGroup::verify(const std::vector<std::uint64_t>& peer_totals) const {
  std::optional<Verdict> sum;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const std::optional<Verdict> one = members_[i]->verify({peer_totals[i]});
    if (!one) continue;
    if (!sum) sum.emplace();
    add(*sum, *one, fmt::format("thread {}", i));
  }
  return sum;
}

nlohmann::ordered_json ThreadGroup::resources() const {
  nlohmann::ordered_json sum = members_.front()->resources();
  for (std::size_t i = 1; i < members_.size(); ++i) add_numbers(sum, members_[i]->resources());
  return sum;
}

nlohmann::ordered_json ThreadGroup::facts() const {
  nlohmann::ordered_json facts = members_.front()->facts();
  for (const char* key : {"peer_thread_domain", "data_in_order"})
    if (const auto fact = facts.find(key); fact != facts.end())
      *fact = std::ranges::all_of(members_, [key](const auto& member) {
        return member->facts().at(key).template get<bool>();
      });
  facts["per_thread"] = told_;
  return facts;
}

std::vector<LoopPlace> ThreadGroup::places() const {
  std::vector<LoopPlace> places;
  for (const auto& member : members_)
    for (const LoopPlace& place : member->places()) places.push_back(place);
  return places;
}

std::optional<LoadData> ThreadGroup::load() const {
  std::vector<LoadData> loads;
  for (const auto& member : members_)
    if (auto load = member->load()) loads.push_back(std::move(*load));
  return loads.empty() ? std::nullopt : std::optional(sum_of_loads(loads));
}

std::vector<QpFigures> ThreadGroup::per_qp() const {
  std::vector<QpFigures> all;
  for (const auto& member : members_)
    for (const QpFigures& each : member->per_qp()) all.push_back(each);
  return all;
}

std::vector<std::uint64_t> ThreadGroup::totals() const {
  std::vector<std::uint64_t> totals;
  for (const auto& member : members_) totals.push_back(member->totals().front());
  return totals;
}

std::uint64_t ThreadGroup::progress() const {
  std::uint64_t sum = 0;
  for (const auto& member : members_) sum += member->progress();
  return sum;
}

}  // namespace rdmameter
