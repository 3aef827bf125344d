// SPDX-License-Identifier: Apache-2.0
// One end of a case that several threads run, each with QPs, CQs and memory of its own, that begin
// together.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/engine/endpoint_runner.h"

namespace rdmameter {

class ThreadGroup : public EndpointRunner {
 public:
  using MakeMember = std::function<std::unique_ptr<EndpointRunner>(std::uint64_t seed)>;

  /// Makes a member for each of this end's threads.
  /// @param make_member  makes one, its payload patterns by the seed that it is given
  ThreadGroup(const TestCase& test_case, Role role, std::uint64_t seed,
              const MakeMember& make_member);

  Introduction introduction() const override;
  void connect(const Introduction& peer) override;
  void establish() override;
  void record_effective(TestCase& test_case, const Introduction& peer) const override;
  /// On as many threads, each on its own of `cpus` [empty: left where they are]. Where one fails,
  /// the others are told to stop.
  LoopResult run(Wait wait, std::span<const unsigned> cpus, const ClockChoice& clock,
                 StopFlag& stop) override;
  void expect(const std::vector<std::uint64_t>& sent) override;
  void pass(LoadGate& gate) override;
  bool end_now() noexcept override;
  std::string take_fatal_event() override { return members_.front()->take_fatal_event(); }
  void abort_traffic() noexcept override;
  std::optional<Verdict> verify(const std::vector<std::uint64_t>& peer_totals) const override;
  /// The device's, which all share: the first has seen them longest.
  nlohmann::ordered_json counters() const override { return members_.front()->counters(); }
  /// Sums.
  nlohmann::ordered_json resources() const override;
  /// The first's, and what each thread measured, as `per_thread`.
  nlohmann::ordered_json facts() const override;
  std::string where() const override { return members_.front()->where(); }
  std::vector<std::uint64_t> totals() const override;
  std::uint64_t progress() const override;
  std::vector<LoopPlace> places() const override;
  std::optional<LoadData> load() const override;
  std::vector<QpFigures> per_qp() const override;

 protected:
  std::span<const std::unique_ptr<EndpointRunner>> members() const { return members_; }

 private:
  /// Never asked for: the members have theirs.
  Loop loop(Wait, ClockChoice::Kind) override { return nullptr; }
  void add_up();

  std::vector<std::unique_ptr<EndpointRunner>> members_;
  std::vector<nlohmann::ordered_json> told_;  ///< of each thread, once it has run
  std::vector<unsigned> cpus_;                ///< of each thread; empty: not pinned
};

}  // namespace rdmameter
