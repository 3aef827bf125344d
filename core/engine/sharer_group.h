// SPDX-License-Identifier: Apache-2.0
// The initiator of a case whose QPs several threads share: one endpoint, work and a loop of each
// thread's own.
#pragma once

#include "core/engine/thread_group.h"
#include "core/engine/verbs_runner.h"

namespace rdmameter {

/// The first member has what concerns the endpoint.
class SharerGroup final : public ThreadGroup {
 public:
  /// As VerbsRunner's.
  SharerGroup(OpenDevice& device, const TestCase& test_case, std::uint64_t seed, CmWatch watch);

  Introduction introduction() const override { return first().introduction(); }
  void connect(const Introduction& peer) override;
  void record_effective(TestCase& test_case, const Introduction& peer) const override {
    first().record_effective(test_case, peer);
  }
  void abort_traffic() noexcept override { first().abort_traffic(); }
  std::optional<Verdict> verify(const std::vector<std::uint64_t>& peer_totals) const override {
    return first().verify(peer_totals);
  }
  nlohmann::ordered_json resources() const override { return first().resources(); }
  /// The sum: the responder has one thread.
  std::vector<std::uint64_t> totals() const override;
  /// Labels and ports alone: no thread knows what others did on a QP.
  std::vector<QpFigures> per_qp() const override { return first().per_qp(); }

 private:
  EndpointRunner& first() const { return *members().front(); }
};

}  // namespace rdmameter
