// SPDX-License-Identifier: Apache-2.0
#include "core/engine/settle.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/engine/credits.h"
#include "core/engine/layout/layout.h"
#include "core/engine/work.h"
#include "core/verbs/device.h"
#include "core/verbs/pkey.h"

namespace rdmameter {
namespace {

/// The bytes of a payload that is a file, as far as kMaxPayloadFileBytes.
std::string beginning_of(const std::string& path) {
  std::string bytes;
  try {
    bytes = read_input(
        path,
        {.name = "--payload file:" + path, .max_bytes = kMaxPayloadFileBytes, .beginning = true});
  } catch (const UsageError& error) {  // the case's failure, not the run's
    throw VerbsError(error.what());
  }
  if (bytes.empty())
    throw Unsupported("--payload file:{}: the file is empty, and holds no messages", path);
  return bytes;
}

EndSettings& end_of(TestCase& test_case, Role role) {
  return role == Role::initiator ? test_case.initiator : test_case.responder;
}

std::span<const Introduction> endpoints_of(const Introduction& end) {
  return end.threads.empty() ? std::span(&end, 1) : std::span(end.threads);
}

/// What an end's devices do not have in common is left open; the names of several are asked for.
void name_end(EndSettings& end, const Introduction& told, std::uint64_t devices) {
  const std::span<const Introduction> endpoints = endpoints_of(told);
  if (devices == 1) end.device = told.device;
  end.port_num = endpoints.front().port_num;
  end.gid_index = endpoints.front().endpoint->gid.index;
  for (const Introduction& one : endpoints) {
    if (one.port_num != end.port_num) end.port_num = kAuto;
    if (one.endpoint->gid.index != end.gid_index) end.gid_index = kAuto;
  }
}

template <class Value>
void require_between(std::string_view what, Value value, Value min, Value max) {
  const auto number = [](Value one) { return static_cast<std::uint64_t>(one); };
  if (value < min || value > max)
    throw MeasurementError("the peer's message: {} is {}, outside {} to {}", what, number(value),
                           number(min), number(max));
}

}  // namespace

DeviceCase::DeviceCase(const TestCase& asked, std::span<OpenDevice* const> devices, Role role)
    : DeviceCase(asked, role) {
  if (role == Role::initiator && asked.payload.starts_with(kFileMemory))
    case_.payload_bytes = beginning_of(asked.payload.substr(kFileMemory.size()));
  case_.registration.relaxed_ordering = asked.relaxes_ordering() ? 1 : 0;
  for (const OpenDevice* device : devices) settle_at(*device);
  divide();
  if (std::ranges::any_of(devices, [](const OpenDevice* one) { return is_iwarp(*one->context); }))
    case_.queues.recv_post_list = receive_list_for_iwarp(case_);
  if (devices.size() != 1) return;
  EndSettings& end = end_of(case_, role);
  end.device = devices.front()->port.device;
  end.port_num = devices.front()->port.number;
  end.gid_index = devices.front()->gid.index;
}

DeviceCase::DeviceCase(const TestCase& asked, OpenDevice& device, Role role)
    : DeviceCase(asked, std::array{&device}, role) {}

/// Rdma_cm where its steps are called, or the way to connect was not specified and the device knows
/// no other; the partition key by value, as the other end is to look it up; a completion of each
/// request where the device demands that and nothing was specified.
void DeviceCase::settle_at(const OpenDevice& device) {
  settle_sges(device.limits);
  const bool steps_of_cm =
      case_.control() && case_.needs_responder() && case_.verb != Verb::connect;
  const bool open = case_.connect_by_default && !case_.multicast();
  if (steps_of_cm || (open && is_iwarp(*device.context))) case_.connect = Connect::cm;
  if (case_.control()) return;
  if (role_ == Role::initiator)
    if (const auto value = choose_pkey(*device.context, device.port, case_.path).value)
      case_.path.pkey = *value;
  std::uint64_t& every = case_.queues.signal_every;
  if (device.limits.unsignaled || every == 1) return;
  if (!case_.queues.signal_by_default)
    throw Unsupported(
        "--signal-every {}: {} does not support unsignaled requests; use --signal-every 1", every,
        device.port.where());
  every = 1;
}

/// Of several devices each takes that many.
void DeviceCase::settle_sges(const DeviceLimits& limits) {
  const std::uint32_t max_read = limits.max_sge_rd != 0 ? limits.max_sge_rd : limits.max_sge;
  const auto settle = [this](std::uint64_t QueueSettings::*sges, std::uint32_t most) {
    if (shared_.queues.*sges == kDeviceMax)
      case_.queues.*sges =
          std::clamp<std::uint64_t>(most, 1, std::min(case_.queues.*sges, case_.size_bytes));
  };
  settle(&QueueSettings::sge, case_.returns_data() ? max_read : limits.max_sge);
  settle(&QueueSettings::recv_sge, case_.shared_receives() ? limits.max_srq_sge : limits.max_sge);
}

/// What holds at both ends so far is shared; what else this end has is its own.
void DeviceCase::divide() {
  const std::uint64_t asked_recv_sge = shared_.queues.recv_sge;
  shared_ = case_;
  shared_.queues.recv_sge = asked_recv_sge;
  if (role_ == Role::responder) case_.qps *= case_.peers;
}

DeviceCase DeviceCase::usual(const TestCase& asked, Role role) {
  DeviceLimits limits;
  limits.max_sge = limits.max_srq_sge = 32;
  DeviceCase settled{asked, role};
  settled.settle_sges(limits);
  settled.divide();
  return settled;
}

DeviceCase DeviceCase::on_null_device(const TestCase& asked) {
  DeviceCase settled{asked, Role::initiator};
  settled.case_.initiator.device = "null";
  settled.case_.queues.thread_domain = 0;
  settled.case_.registration.relaxed_ordering = 0;
  if (asked.wait == Wait::automatic) settled.case_.wait = Wait::spin;
  return settled;
}

DeviceCase DeviceCase::of_endpoint(std::uint64_t number) const {
  DeviceCase one = *this;
  one.case_.path.first_qp = number * shared_.qps;
  take_memory_of_device(one.case_, number / case_.threads);
  return one;
}

DeviceCase DeviceCase::backward() const {
  DeviceCase other = *this;
  other.role_ = other_end(role_);
  std::string &mine = other.case_.initiator.memory, &theirs = other.case_.responder.memory;
  if (is_opened(mine) || is_opened(theirs)) std::swap(mine, theirs);
  return other;
}

AgreedCase::AgreedCase(const DeviceCase& mine, const Introduction& own, const Introduction& peer)
    : SettledCase(mine.shared()) {
  if (case_.over_tcp()) return;
  name_end(end_of(case_, mine.role()), own, case_.devices());
  name_end(end_of(case_, other_end(mine.role())), peer, case_.devices());
}

AgreedCase::AgreedCase(const DeviceCase& mine, const Introduction& own, const Introduction& peer,
                       const Agreed& found, Wait wait)
    : AgreedCase(mine, own, peer) {
  const bool open = case_.wait == Wait::automatic;
  require_between("wait", wait, open ? Wait::spin : case_.wait, open ? Wait::yield : case_.wait);
  case_.wait = wait;
  if (case_.over_tcp()) return;
  case_.path.mtu_bytes = found.mtu_bytes;
  case_.path.pkey_index = found.pkey_index;
  QueueSettings& queues = case_.queues;
  queues.inline_bytes = found.inline_bytes;
  queues.outstanding_reads = found.outstanding_reads;
  // A device that runs out of thread domains gives none to the last threads.
  queues.thread_domain =
      std::ranges::all_of(endpoints_of(own), &Introduction::thread_domain) ? 1 : 0;
  // The receiver decides where the case says "as many as the device has", but a piece has a byte.
  const bool any = queues.recv_sge == kDeviceMax;
  for (const Introduction& one : endpoints_of(peer))
    require_between("recv_sge", one.recv_sge, any ? std::uint64_t{1} : queues.recv_sge,
                    any ? case_.size_bytes : queues.recv_sge);
  queues.recv_sge =
      mine.role() == Role::initiator ? endpoints_of(peer).front().recv_sge : mine->queues.recv_sge;
  if (!case_.takes_receive()) return;
  // Of the end that has more QPs, and so less memory for the receives of each.
  TestCase responder = case_;
  responder.qps *= responder.peers;
  responder.queues.recv_post_list = mine->queues.recv_post_list;
  queues.recv_post_list = receive_list_length(responder);
  queues.rx_depth = posted_receives(responder);
}

TestCase as_measured(const SettledCase& settled, std::optional<std::uint32_t> route_mtu_bytes) {
  TestCase test_case = settled;
  if (route_mtu_bytes) test_case.path.mtu_bytes = *route_mtu_bytes;
  if (test_case.open_loop() || test_case.until_interrupted())
    test_case.interval_ns = test_case.interval();
  return test_case;
}

}  // namespace rdmameter
