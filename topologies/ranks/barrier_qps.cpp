// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/barrier_qps.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "core/verbs/pkey.h"
#include "topologies/ranks/node.h"
#include "topologies/ranks/qp_limit.h"

namespace rdmameter {
namespace {

/// The epoch's own word stands first, apart from those that others write into.
constexpr std::size_t kWord = sizeof(std::uint64_t), kHeardAt = 64;
constexpr std::uint32_t kMaxSteps = 32;

std::uint32_t steps_of(Rank ranks) {
  return static_cast<std::uint32_t>(std::bit_width(ranks - 1));
}

}  // namespace

std::vector<Rank> barrier_partners(Rank rank, Rank ranks) {
  std::vector<Rank> partners;
  for (Rank distance = 1; distance < ranks; distance *= 2) {
    partners.push_back((rank + distance) % ranks);
    partners.push_back((rank + ranks - distance) % ranks);
  }
  std::ranges::sort(partners);
  partners.erase(std::unique(partners.begin(), partners.end()), partners.end());
  return partners;
}

BarrierQps::BarrierQps(OpenDevice& device, const TestCase& test_case, Rank rank, Rank ranks)
    : device_(device),
      case_([&] {
        TestCase new_case =
            test_case;  // what goes over its QPs is a word, whatever the graph's carry
        new_case.transport = Transport::rc;
        new_case.size_bytes = kWord;
        return new_case;
      }()),
      rank_(rank),
      ranks_(ranks),
      partners_(barrier_partners(rank, ranks)),
      memory_(*device.context, 0, kHeardAt + kMaxSteps * kWord, device.numa_node, "",
              device.port.where(), device.memory),
      domain_(*device.context, test_case.queues.thread_domain, device.port.where()),
      mr_(memory_.register_part(domain_.plain(), 0, memory_.size_bytes(),
                                IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)),
      cqs_(*device.context,
           {.count = 1,
            .entries = 2 * steps_of(ranks) + 2,
            .timestamps = false,
            .domain = domain_.parent(),
            .which = "barrier CQ"},
           case_, device.port.where()),
      maker_(kWord),
      info_(endpoint_info_of(device)) {
  const std::string where = device.port.where();
  const std::uint32_t steps = steps_of(ranks);
  const std::uint16_t pkey_index = choose_pkey(*device.context, device.port, case_.path).index;
  while (qps_.size() < partners_.size()) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = cqs_.all().front();
    attributes.cap = {.max_send_wr = 2 * steps,
                      .max_recv_wr = 1,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = 0};
    attributes.qp_type = IBV_QPT_RC;
    Qp qp = maker_.make(domain_.of_queues(), attributes);
    if (!qp) throw_no_qp(device, "barrier", qps_.size(), partners_.size(), errno);
    qps_.push_back(std::move(qp));
    to_init(*qps_.back(), Transport::rc, device.port.number, pkey_index, IBV_ACCESS_REMOTE_WRITE,
            kQkey, where);
    info_.qpns.push_back(qps_.back()->qp_num);
    info_.psns.push_back(random_psn());
  }
  info_.address = memory_.address() + kHeardAt;
  info_.rkeys = {mr_->rkey};
}

EndpointInfo BarrierQps::info_for(Rank partner) const {
  EndpointInfo info = info_;
  const std::size_t place = place_of(partners_, partner);
  info.qpns = {info_.qpns[place]};
  info.psns = {info_.psns[place]};
  return info;
}

void BarrierQps::connect(const std::map<Rank, EndpointInfo>& peers) {
  const std::string where = device_.port.where();
  for (std::size_t i = 0; i < partners_.size(); ++i) {
    const EndpointInfo& peer = info_of(peers, partners_[i]);
    const QpPath path = path_to_rank(device_, case_, peer);
    to_rtr(*qps_[i], Transport::rc, path, peer.qpns.at(0), peer.psns.at(0), where);
    to_rts(*qps_[i], Transport::rc, path, info_.psns[i], where);
  }
  epoch_sge_ = {.addr = memory_.address(), .length = kWord, .lkey = mr_->lkey};
  steps_.resize(steps_of(ranks_));
  const auto* const received = reinterpret_cast<std::uint64_t*>(memory_.host() + kHeardAt);
  for (std::uint32_t k = 0; k < steps_.size(); ++k) {
    const Rank ahead = (rank_ + (Rank{1} << k)) % ranks_;
    BarrierStep& step = steps_[k];
    step.qp = qps_[place_of(partners_, ahead)].get();
    step.received = received + k;
    step.wr = {};
    step.wr.sg_list = &epoch_sge_;
    step.wr.num_sge = 1;
    step.wr.opcode = IBV_WR_RDMA_WRITE;
    step.wr.send_flags = IBV_SEND_SIGNALED | maker_.inline_flag();
    const EndpointInfo& peer = info_of(peers, ahead);
    step.wr.wr.rdma.remote_addr = peer.address + k * kWord;
    step.wr.wr.rdma.rkey = peer.rkeys.at(0);
  }
  barrier_.steps = steps_.data();
  barrier_.count = static_cast<std::uint32_t>(steps_.size());
  barrier_.cq = cqs_.all().front();
  barrier_.epoch = reinterpret_cast<std::uint64_t*>(memory_.host());
}

}  // namespace rdmameter
