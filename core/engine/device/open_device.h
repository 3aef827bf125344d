// SPDX-License-Identifier: Apache-2.0
// A device that is open for a run, and what an end says of it to the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/test_case/test_case.h"
#include "core/verbs/device.h"
#include "core/verbs/gid_pair.h"
#include "core/verbs/handles.h"
#include "core/verbs/memory/memory.h"
#include "core/verbs/qp_state.h"

namespace rdmameter {

/// An open device with the port and GID of a run. Kept over cases: opening is slow.
struct OpenDevice {
  Context context;
  PortInfo port;
  Gid gid;                ///< by itself, or with the GIDs of a peer that are known: use_gids_of()
  std::vector<Gid> gids;  ///< that it may use towards a peer
  DeviceLimits limits;
  std::optional<int> numa_node;
  MemoryTerms memory;
  /// Most inline bytes that a QP was created with, by (transport, send depth, SGEs): found
  /// once, by trying.
  std::map<std::tuple<Transport, std::uint32_t, std::uint64_t>, std::uint32_t> max_inline;
};

/// @param device     empty: see LoneChoice; where no port can be used, the first with an active one
/// @param port_num   kAuto: the device's first active port
/// @param gid_index  kAuto: see choose_gid()
/// @throws NoDevice, UsageError, Unsupported, VerbsError
OpenDevice open_for_run(const std::string& device, std::uint64_t port_num, std::uint64_t gid_index);

/// Asks anew for what changes while a run lasts: state, LID and MTU of the port, the GIDs. Events
/// of such changes that wait are passed over.
/// @param gid_index  as open_for_run()
/// @throws MeasurementError  the port is not active any more, or has not that GID
void look_again(OpenDevice& device, std::uint64_t gid_index);

/// Takes the GID that goes best with those of the peer; where none goes, it stays as it is.
void use_gids_of(OpenDevice& device, std::span<const Gid> peer);

/// The part of EndpointInfo that all endpoints on a device have in common.
struct EndpointDevice {
  std::uint16_t lid = 0;
  Gid gid;                ///< the one that it uses
  std::vector<Gid> gids;  ///< those that it may use
  int link_layer = 0;
  bool needs_grh = true;                      ///< see PortInfo
  std::uint32_t mtu_bytes = 0;                ///< its port's active MTU
  std::uint32_t reads_in = 0, reads_out = 0;  ///< outstanding reads that it can take, and make
};

/// The part of EndpointInfo that each endpoint has of its own.
struct EndpointQueues {
  std::uint64_t address = 0;         ///< of the area that one-sided operations work on
  std::vector<std::uint32_t> rkeys;  ///< of it: of each QP, or one for all
  std::uint32_t qkey = 0;
  std::vector<std::uint32_t> qpns, psns;
  std::uint64_t credit_address = 0;  ///< of the words where it gets credits; 0: it needs none
  std::uint32_t credit_rkey = 0;
};

/// All that the other end needs to reach an endpoint.
struct EndpointInfo : EndpointDevice, EndpointQueues {};

namespace lists {

void endpoint_device(auto& fields, auto& info) {
  fields("lid", info.lid);
  fields("gid", info.gid);
  fields("gids", info.gids, {.max_size = kMostGidsOffered});
  fields("link_layer", info.link_layer, {.max = 255});
  fields("needs_grh", info.needs_grh);
  fields("mtu_bytes", info.mtu_bytes, {.min = 256, .max = 4096});
  fields("reads_in", info.reads_in);
  fields("reads_out", info.reads_out);
}

void endpoint_queues(auto& fields, auto& info) {
  fields("address", info.address);
  fields("rkeys", info.rkeys);
  fields("qkey", info.qkey);
  fields("qpns", info.qpns, {.max = k24Bits});
  fields("psns", info.psns, {.max = k24Bits});
  fields("credit_address", info.credit_address);
  fields("credit_rkey", info.credit_rkey);
}

}  // namespace lists

void list_fields(auto& fields, Is<EndpointDevice> auto& info) {
  lists::endpoint_device(fields, info);
}
void list_fields(auto& fields, Is<EndpointQueues> auto& info) {
  lists::endpoint_queues(fields, info);
}
void list_fields(auto& fields, Is<EndpointInfo> auto& info) {
  lists::endpoint_device(fields, info);
  lists::endpoint_queues(fields, info);
}

/// @throws MeasurementError  its `mtu_bytes` is none of IBTA's
void complete(const EndpointDevice& info, const CheckedJson& json);

/// @throws MeasurementError  a peer's are not those of so many QPs
void require_queues_of(const EndpointQueues& queues, std::uint64_t qps);

/// An open device's, without memory and QPs.
EndpointInfo endpoint_info_of(const OpenDevice& device);

/// The protection domain of one thread's memory and queues, with a thread domain where the device
/// has those: the provider can then leave out locks of the queues.
class ProtectionDomain {
 public:
  /// @param thread_domain  0: without; kAuto: where the device has one; else it must have
  /// @param where          the port, for texts
  /// @throws Unsupported, VerbsError
  ProtectionDomain(ibv_context& context, std::uint64_t thread_domain, const std::string& where);

  /// The PD of memory and address handles.
  ibv_pd& plain() const { return *pd_; }
  /// The PD of QPs and SRQs.
  ibv_pd& of_queues() const { return parent_ ? *parent_ : *pd_; }
  /// The thread domain's, for CQs for one thread; null: there is none.
  ibv_pd* parent() const { return parent_.get(); }

 private:
  Pd pd_;
  Td td_;
  Pd parent_;  ///< of pd_ and td_ together
};

}  // namespace rdmameter
