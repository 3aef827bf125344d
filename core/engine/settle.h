// SPDX-License-Identifier: Apache-2.0
// What a case is in truth is settled in three moments, and each has a type. Asked: a TestCase, as
// the plan has it. Settled at this device: a DeviceCase, before anything is made. Settled with the
// peer: an AgreedCase, before the first message. Code takes the type of its moment, reads it, and
// settles nothing again. What only the measurement tells is a fact of the row: as_measured().
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/role.h"
#include "core/engine/introduction.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// A case to be read alone.
class SettledCase {
 public:
  operator const TestCase&() const noexcept { return case_; }
  const TestCase* operator->() const noexcept { return &case_; }

 protected:
  explicit SettledCase(const TestCase& test_case) : case_(test_case) {}
  TestCase case_;
};

/// A case as one end has it, settled with the end's devices: `max` SGEs and lists of receives are
/// numbers; of one QP with several peers the responder has as many QPs.
class DeviceCase : public SettledCase {
 public:
  /// @param asked    at the initiator with the devices chosen; at the responder what came from there
  /// @param devices  of this end, in order; none over TCP
  /// @throws Unsupported  fewer signals were specified than a device demands; a port has no such
  ///                      partition key; over iWARP messages might find no receive
  /// @throws Unsupported, VerbsError  the initiator's file of the payload is empty or cannot be read
  DeviceCase(const TestCase& asked, std::span<OpenDevice* const> devices, Role role);
  DeviceCase(const TestCase& asked, OpenDevice& device, Role role);

  /// As an end would have it on a device with the usual limits, to know its memory beforehand.
  static DeviceCase usual(const TestCase& asked, Role role);
  static DeviceCase on_null_device(const TestCase& asked);

  Role role() const noexcept { return role_; }
  /// Is this the end that was asked, whatever its role in this direction?
  bool at_responder() const noexcept { return at_responder_; }
  /// The case as both ends have it, with what the peer decides left open: it goes to the peer.
  const TestCase& shared() const noexcept { return shared_; }
  /// The case of one of the end's endpoints, by device and thread.
  DeviceCase of_endpoint(std::uint64_t number) const;
  /// The responder's direction of a bidirectional case, as a case that the responder initiates.
  /// Memory that is opened by a name (a GPU, a file) belongs to a machine, so each machine then has
  /// its own memory in both directions.
  DeviceCase backward() const;

 private:
  DeviceCase(const TestCase& asked, Role role)
      : SettledCase(asked), shared_(asked), role_(role), at_responder_(role == Role::responder) {}
  void settle_at(const OpenDevice& device);
  void settle_sges(const DeviceLimits& limits);
  void divide();

  TestCase shared_;  ///< as asked, until the devices have settled it
  Role role_;
  bool at_responder_;
};

/// What an endpoint and its peer's agree on, and what its QPs were made with.
struct Agreed {
  std::uint32_t mtu_bytes = 0;          ///< 0: iWARP has none
  std::uint32_t outstanding_reads = 1;  ///< per QP, from the initiator to the responder
  std::uint32_t inline_bytes = 0;
  std::uint16_t pkey_index = 0;
};

/// A case as the two ends have it: every value but what only the measurement tells.
class AgreedCase : public SettledCase {
 public:
  /// Of a test that connects QPs: its ends have names.
  AgreedCase(const DeviceCase& mine, const Introduction& own, const Introduction& peer);
  /// @param found  of this end; of several endpoints the least MTU, and else what the first has
  /// @param wait   as the initiator has chosen where the case leaves it open
  /// @throws MeasurementError  the peer's `recv_sge` or `wait` is not what the case allows
  AgreedCase(const DeviceCase& mine, const Introduction& own, const Introduction& peer,
             const Agreed& found, Wait wait);
};

/// The case as its row has it, with the length of intervals where they mean something.
/// @param route_mtu_bytes  of the connection's route; nothing: as agreed
TestCase as_measured(const SettledCase& test_case,
                     std::optional<std::uint32_t> route_mtu_bytes = {});

}  // namespace rdmameter
