// SPDX-License-Identifier: Apache-2.0
// An end whose messages go over a verbs device.
#pragma once

#include "core/counters.h"
#include "core/endpoint.h"
#include "core/side.h"
#include "core/work.h"

namespace rdmameter {

class VerbsSide final : public Side {
 public:
  /// Creates the endpoint. @param seed  of both ends' payload patterns
  VerbsSide(OpenDevice& device, const Case& one_case, Role role, std::uint64_t seed);

  nlohmann::json introduction() const override;
  /// Builds and posts the receives, then brings the QPs to RTS: in this order, so that a peer that
  /// is ready may send at once.
  void connect(const nlohmann::json& peer) override;
  void settle(Case& one_case, const nlohmann::json& peer) const override;
  std::string take_fatal_event() override;
  /// See Endpoint::silence().
  void silence() noexcept override { endpoint_.silence(); }
  std::optional<Verdict> verify(const std::vector<std::uint64_t>& peer_totals) const override;
  nlohmann::ordered_json counters() const override;
  nlohmann::ordered_json resources() const override { return endpoint_.resources(); }
  nlohmann::ordered_json facts() const override;
  std::string where() const override { return device_.port.where(); }

 private:
  Loop loop(Wait wait, ClockChoice::Kind clock) override;
  Verdict verify_atomics(std::uint64_t total) const;

  OpenDevice& device_;
  const Counters counters_before_;
  mutable Endpoint endpoint_;
  Agreed agreed_;
  std::unique_ptr<Work> work_;
  nlohmann::ordered_json shares_;  ///< null: the case has no timestamps
};

}  // namespace rdmameter
