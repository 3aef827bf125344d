// SPDX-License-Identifier: Apache-2.0
#include "core/engine/side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <barrier>
#include <cassert>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>

#include "core/base/error.h"
#include "core/engine/account/load.h"
#include "core/engine/placement/placement.h"
#include "core/instrument/histogram_data.h"
#include "core/result/row_json.h"

namespace rdmameter {
namespace {

/// Numbers add up; what is alike stays.
void add_numbers(Json& sum, const Json& more) {
  for (const auto& [key, value] : more.items())
    if (value.is_number_integer() && !key.ends_with("_per_qp"))
      sum[key] = value.get<std::uint64_t>() +
                 (sum.contains(key) ? sum[key].get<std::uint64_t>() : std::uint64_t{0});
}

constexpr int kFailure = 2;

/// The one that failed by itself tells more than those that were flushed or stopped for it.
int tells(const LoopResult& end) {
  if (end.why == LoopResult::Why::done) return 0;
  if (end.why == LoopResult::Why::stopped) return 1;
  return end.status == IBV_WC_WR_FLUSH_ERR ? kFailure : kFailure + 1;
}

/// The loops of a side, while they run.
struct LoopsTogether {
  Side& side;
  const Wait wait;
  const ClockChoice& clock;
  StopFlag& stop;
  std::vector<LoopResult> ends = std::vector<LoopResult>(side.runners.size());
  std::vector<std::exception_ptr> errors = std::vector<std::exception_ptr>(ends.size());
  std::barrier<> start{std::ssize(ends)};

  SideResult run() {
    {
      const std::vector<std::jthread> others = start_others();
      run_one(0);
    }
    for (const std::exception_ptr& error : errors)
      if (error) std::rethrow_exception(error);
    const auto end = std::ranges::max_element(ends, {}, tells);
    return {*end, side.runners[static_cast<std::size_t>(end - ends.begin())]->where()};
  }

  std::vector<std::jthread> start_others() {
    const std::size_t count = ends.size();
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 1; i < count; ++i) {
      try {
        threads.emplace_back([this, i] { run_one(i); });
      } catch (const std::system_error& error) {  // all threads start, or none
        stop.request(StopReason::sibling);
        for (std::size_t missing = i; missing < count; ++missing) start.arrive_and_drop();
        errors[i] = std::make_exception_ptr(
            MeasurementError("thread {} of {} cannot be created ({}): use fewer --threads", i + 1,
                             count, error.code().message()));
        break;
      }
    }
    return threads;
  }

  void run_one(std::size_t i) {
    EndpointRunner& runner = *side.runners[i];
    std::optional<Pinned> pinned;
    try {
      pinned.emplace(side.cpus.empty() ? std::nullopt : std::optional(side.cpus[i]),
                     runner.role() == Role::initiator ? "--core" : "--peer-core");
    } catch (const std::exception&) {
      errors[i] = std::current_exception();
      stop.request(StopReason::sibling);
    }
    start.arrive_and_wait();
    try {
      if (stop.reason() != StopReason::sibling) ends[i] = runner.run(wait, clock, stop);
    } catch (const std::exception&) {
      errors[i] = std::current_exception();
    }
    if (ends.size() == 1 || (tells(ends[i]) < kFailure && !errors[i])) return;
    stop.request(StopReason::sibling);
    side.abort_traffic();
  }
};

}  // namespace

Introduction Side::introduction() const {
  Introduction all = first().introduction();
  if (endpoints() == 1) return all;
  all.endpoint.reset();
  for (std::size_t i = 0; i < endpoints(); ++i)
    all.threads.push_back(of_endpoint(i).introduction());
  return all;
}

Pinned Side::pinned_to_make(std::size_t runner) const {
  const std::size_t each = cpus.size() / devices;
  const bool where_it_is = cpus.empty() || devices == 1;
  return Pinned{where_it_is ? std::nullopt : std::optional(cpus[runner / each * each]), "--core"};
}

Agreed Side::connect(const Introduction& peer) {
  if (peer.threads.size() != (endpoints() == 1 ? 0 : endpoints()))
    throw MeasurementError(
        "the peer's message: threads has {} elements, and the case has {} threads",
        peer.threads.size(), endpoints());
  Agreed all;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    const Pinned pinned = pinned_to_make(i);
    const Agreed one = runners[i]->connect(endpoints() == 1 ? peer : peer.threads[i / sharers]);
    if (i == 0) all = one;
    if (i % sharers == 0) all.mtu_bytes = std::min(all.mtu_bytes, one.mtu_bytes);
  }
  return all;
}

std::optional<std::uint32_t> Side::establish() {
  std::optional<std::uint32_t> least;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    const Pinned pinned = pinned_to_make(i);
    const auto mtu_bytes = runners[i]->establish();
    if (mtu_bytes) least = std::min(*mtu_bytes, least.value_or(*mtu_bytes));
  }
  return least;
}

void Side::pass(WindowBarrier& windows) {
  for (const auto& runner : runners) runner->pass(windows);
}

SideResult Side::run(Wait wait, const ClockChoice& clock, StopFlag& stop) {
  assert(cpus.empty() || cpus.size() == runners.size());
  return LoopsTogether{*this, wait, clock, stop}.run();
}

void Side::expect(const std::vector<std::uint64_t>& sent) {
  for (std::size_t i = 0; i < endpoints(); ++i) of_endpoint(i).expect(sent[i]);
}

bool Side::end_now() noexcept {
  bool begun = true;
  for (const auto& runner : runners) begun = runner->end_now() && begun;
  return begun;
}

void Side::abort_traffic() noexcept {
  for (std::size_t i = 0; i < endpoints(); ++i) of_endpoint(i).abort_traffic();
}

std::string Side::take_fatal_event() {
  for (std::size_t i = 0; i < devices; ++i)
    if (const std::string event = first_of(i).take_fatal_event(); !event.empty())
      return fmt::format("{} reports {}", first_of(i).where(), event);
  return {};
}

std::string Side::await_fatal_event() {
  constexpr auto kTick = std::chrono::milliseconds{10};
  std::string event = take_fatal_event();
  for (int tries = 0; tries < 20 && event.empty(); ++tries) {
    std::this_thread::sleep_for(kTick);
    event = take_fatal_event();
  }
  return event;
}

std::optional<Verdict> Side::verify(const std::vector<std::uint64_t>& peer_totals) const {
  if (endpoints() == 1) return first().verify(peer_totals.front());
  std::optional<Verdict> sum;
  for (std::size_t i = 0; i < endpoints(); ++i) {
    const std::optional<Verdict> one = of_endpoint(i).verify(peer_totals[i]);
    if (!one) continue;
    if (!sum) sum.emplace();
    add(*sum, *one,
        devices == 1
            ? fmt::format("thread {}", i)
            : fmt::format("{}, thread {}", of_endpoint(i).where(), i % (endpoints() / devices)));
  }
  return sum;
}

std::vector<std::uint64_t> Side::totals() const {
  std::vector<std::uint64_t> totals(endpoints());
  for (std::size_t i = 0; i < runners.size(); ++i) totals[i / sharers] += runners[i]->tally().total;
  return totals;
}

std::uint64_t progress_of(Runners runners) {
  std::uint64_t sum = 0;
  for (const auto& runner : runners) sum += runner->progress();
  return sum;
}

Json Side::counters() const {
  Json sum = first().counters();
  for (std::size_t i = 1; i < devices; ++i) add_numbers(sum, first_of(i).counters());
  return sum;
}

Json Side::resources() const {
  Json sum = first().resources();
  for (std::size_t i = 1; i < endpoints(); ++i) add_numbers(sum, of_endpoint(i).resources());
  return sum;
}

namespace {

/// A fact that is a text: "dmabuf"; where devices differ, that of each: "dmabuf+pointer".
std::string fact_of_devices(const Side& side, const char* key) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < side.devices; ++i)
    texts.push_back(side.first_of(i).facts().at(key).get<std::string>());
  const bool alike = std::ranges::count(texts, texts.front()) == std::ssize(texts);
  return alike ? texts.front()
               : fmt::format("{}", fmt::join(texts, std::string(1, kDeviceSeparator)));
}

}  // namespace

Json Side::facts() const {
  Json facts = first().facts();
  if (runners.size() == 1) return facts;
  for (const char* key : {"peer_thread_domain", "data_in_order"})
    for (std::size_t i = 1; i < endpoints() && facts.contains(key); ++i)
      if (!of_endpoint(i).facts().at(key).get<bool>()) facts[key] = false;
  for (const char* key : {"gpu_registration", "gpu_pcie_path"})
    if (facts.contains(key)) facts[key] = fact_of_devices(*this, key);
  for (std::size_t i = 0; i < runners.size(); ++i) {
    const LoopTally& tally = runners[i]->tally();
    Json& one = facts["per_thread"].emplace_back(Json{
        {"core", nullptr}, {"operations", tally.operations}, {"elapsed_ns", tally.elapsed_ns}});
    if (!cpus.empty()) one["core"] = cpus[i];
    if (runners[i]->latency() == nullptr) continue;
    const HistogramData samples = snapshot(*runners[i]->latency());
    if (samples.count != 0) one["mean_ns"] = mean(samples);
  }
  return facts;
}

std::vector<LoopPlace> Side::places() const {
  std::vector<LoopPlace> places;
  for (const auto& runner : runners)
    places.insert(places.end(), runner->place().begin(), runner->place().end());
  return places;
}

std::optional<LoadData> load_of(Runners runners) {
  std::vector<LoadData> loads;
  for (const auto& runner : runners)
    if (auto load = runner->load()) loads.push_back(std::move(*load));
  if (loads.empty()) return std::nullopt;
  return loads.size() == 1 ? loads.front() : sum_of_loads(loads);
}

std::vector<QpFigures> Side::per_qp() const {
  std::vector<QpFigures> all;
  for (std::size_t i = 0; i < endpoints(); ++i)
    for (const QpFigures& each : of_endpoint(i).per_qp()) all.push_back(each);
  return all;
}

LatencySeries* Side::added_over_time() {
  LatencySeries* const sum = first().over_time();
  for (std::size_t i = 1; i < runners.size() && sum != nullptr; ++i)
    sum->add(*runners[i]->over_time());
  return sum;
}

std::unique_ptr<Histogram> Side::take_latency() {
  std::unique_ptr<Histogram> sum = first().take_latency();
  for (std::size_t i = 1; i < runners.size(); ++i) {
    const std::unique_ptr<Histogram> more = runners[i]->take_latency();
    if (more == nullptr) sum.reset();
    if (sum != nullptr) sum->add(*more);
  }
  return sum;
}

SideTally::SideTally(Runners runners) {
  double rate_per_ns = 0;
  for (const auto& runner : runners) {
    const LoopTally& tally = runner->tally();
    operations += tally.operations;
    total += tally.total;
    lost += tally.lost;
    duplicated += tally.duplicated;
    reordered += tally.reordered;
    doorbells += tally.doorbells;
    cqes += tally.cqes;
    polls += tally.polls;
    traffic_ns = std::max(traffic_ns, tally.traffic_ns);
    rate_per_ns += per_ns(tally.operations, tally.elapsed_ns);
    cpu_ns += runner->cpu_ns();
    has_loop = has_loop || runner->has_loop();
  }
  elapsed_ns = runners.size() == 1 ? runners.front()->tally().elapsed_ns
                                   : window_of(operations, rate_per_ns);
}

}  // namespace rdmameter
