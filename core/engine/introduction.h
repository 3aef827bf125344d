// SPDX-License-Identifier: Apache-2.0
// What an end of a case tells the other one of itself, so that the two can connect and each knows
// what the other has become.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/device/open_device.h"
#include "core/test_case/test_case.h"
#include "core/wire/auth.h"
#include "core/wire/message.h"

namespace rdmameter {

/// Where a responder awaits connections of rdma_cm or TCP.
struct ListeningAt {
  std::uint16_t port = 0;
  std::string nonce;  ///< of the case, by which a connection shows whose it is
};

void list_fields(auto& fields, Is<ListeningAt> auto& at) {
  fields("port", at.port, {.min = 1});
  fields("nonce", at.nonce, {.min_size = kNonceChars, .max_size = kNonceChars});
}

/// The introduction of one direction.
struct Introduction {
  std::optional<EndpointInfo> endpoint;  ///< nothing: it is on no verbs device
  std::string device;
  std::uint64_t port_num = 0;
  bool thread_domain = false;  ///< have its QPs one?
  std::uint64_t recv_sge = 0;  ///< SGEs of each of its receives
  std::string group;           ///< of a multicast that it receives; empty: none
  std::optional<ListeningAt> listening;
  /// Of several endpoints each: by device, and of each by thread. What concerns all is then the
  /// first one's.
  std::vector<Introduction> threads;

  /// @throws MeasurementError  a peer has none, or not that of so many QPs; or no number of a port
  const EndpointInfo& endpoint_of(std::uint64_t qps) const;
  /// @throws MeasurementError  a peer listens nowhere
  const ListeningAt& where_listening() const;
};

void list_fields(auto& fields, Is<Introduction> auto& end) {
  fields("endpoint", end.endpoint);
  fields("device", end.device, {.max_size = IBV_SYSFS_NAME_MAX});
  fields("port_num", end.port_num, {.max = 255});
  fields("thread_domain", end.thread_domain);
  fields("recv_sge", end.recv_sge);
  fields("group", end.group, {.max_size = 64});
  fields("listening", end.listening);
  fields("threads", end.threads, {.max_size = kMostEndpoints});
}

/// The introductions of both directions.
struct Introductions {
  Introduction forward;
  std::optional<Introduction> backward;  ///< nothing: the responder sends no messages of its own
};

void list_fields(auto& fields, Is<Introductions> auto& ends) {
  fields("forward", ends.forward);
  fields("backward", ends.backward);
}

/// A case whose QPs are connected, as the end sees it that says so.
struct ConnectedCase {
  TestCase test_case;  ///< as it is in truth; over iWARP its MTU is `auto`: a message takes no 0
  Introductions local, remote;
};

void list_fields(auto& fields, Is<ConnectedCase> auto& connected) {
  fields.coded("case", connected.test_case, case_to_wire,
               [](const CheckedJson& json) { return case_from_wire(json.object()); });
  fields("local", connected.local);
  fields("remote", connected.remote);
}

/// Called with a case whose QPs are connected.
using ConnectedListener = std::function<void(const ConnectedCase& what)>;

}  // namespace rdmameter
