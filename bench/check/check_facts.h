// SPDX-License-Identifier: Apache-2.0
// What a check knows of its devices, and the numbers of its rows.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/check/judge.h"
#include "core/result/row.h"
#include "core/verbs/port_choice.h"
#include "reports/summary/facts.h"

namespace rdmameter {

/// One of the two devices of a subject.
struct CheckedDevice {
  std::size_t subject;  ///< the first one that it is part of
  std::string host;
  Json facts;     ///< `device` of its environment
  Json findings;  ///< of its machine
  bool is_peer;

  std::string at_end() const;  ///< "the peer's mlx5_0: " of a peer; empty: of the subject's own
};

/// Each device once, however many subjects it is part of.
std::vector<CheckedDevice> checked_devices(std::span<const CheckSubject> subjects);

/// Facts of two devices that are of one model: their links and MTUs can be compared.
bool of_one_model(const Json& one, const Json& other);
/// Both ends are of one model each, not in software, and messages of both pass a link
/// or of neither.
bool are_siblings(const CheckSubject& one, const CheckSubject& other);

/// Is an end's device in software: as fast as the CPU has time for it?
bool is_in_software(const CheckSubject& subject);

/// Of a check of `doctor`; empty: it found nothing at this device.
std::string cause_of(const CheckedDevice& device, std::string_view check);

/// Why a bandwidth cannot be held against what line and slot allow; empty: it can.
std::string why_no_bound(const CheckSubject& subject);

/// Of a row both ways, one of them: "forward", "backward" [Gb/s]; nothing: it is not known.
std::optional<double> direction_gbps(const Row& row, const char* direction);

/// A bandwidth, or a median latency; nothing: it has none.
std::optional<double> watched_number(const Row& row);
std::string watched_text(const Row& row, double value);

/// The others' median, if this row's number is far from it, to the worse: below kLeastOfOthers of a
/// bandwidth; of a latency above kMostOfLatency, and so is the smallest sample: a machine that is
/// busy has long medians. Nothing: it is not, or there are no numbers.
std::optional<double> usual_of_better(const Row& row, std::span<const Row* const> others);

/// The devices that rows of a check are of: not of several together, nor of `tcp_*`.
std::set<std::string> expected_devices(std::span<const Row> rows);

/// Of the device's first ACTIVE port in an examination; nothing: it has none.
std::optional<std::string> link_layer_of(const Json& examination, const std::string& device);

/// "DOWN", "no GID", "cannot be opened": of a port that cannot be used, though one of its kind can,
/// or though a cable is in (INIT, ARMED). @return  empty: nobody expects it to work
std::string why_unusable(const PortFacts& port, std::span<const PortFacts> all);

/// "slot x4 Gen5", from a device of an environment.
std::string slot_text(const Json& device);

}  // namespace rdmameter
