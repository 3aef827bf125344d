// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/multicast.h"

#include <fmt/format.h>

#include <cerrno>
#include <random>

#include "core/base/error.h"
#include "core/verbs/check.h"
#include "core/verbs/cm/failure.h"

namespace rdmameter {

MulticastGroup::MulticastGroup(CmWatch watch, const CmEndpoint& end, const CmAddress& group)
    : group_(group), channel_(watch), id_(make_cm_id(channel_, end, nullptr)) {
  const std::string object = fmt::format("of {} into the group {}", end.text(), group_.text());
  require_device(*id_, end);
  const int joining = rdma_join_multicast(id_.get(), group_.get(), nullptr);
  if (joining != 0 && errno == kEnotsupp)
    throw Unsupported(
        fmt::format("the kernel's rdma_cm cannot take {} into the group {}: over RoCE v2 it knows "
                    "only IPv4 groups; "
                    "choose an IPv4 address's GID by --gid-index and --peer-gid-index",
                    end.text(), group_.text()));
  check_minus_one(joining, "rdma_join_multicast", object);
  const CmEvent event = channel_.next(channel_.deadline(), "the joining " + object);
  if (event->event != RDMA_CM_EVENT_MULTICAST_JOIN) throw_cm_event(*event, object);
  service_ = {.way = path_attributes(event->param.ud.ah_attr, end),
              .qpn = event->param.ud.qp_num,
              .qkey = event->param.ud.qkey};
}

MulticastGroup::~MulticastGroup() {
  for (ibv_qp* const qp : attached_)
    if (const int error = ibv_detach_mcast(qp, &service_.way.grh.dgid, service_.way.dlid);
        error != 0)
      report_leak("ibv_detach_mcast", error);
  if (rdma_leave_multicast(id_.get(), group_.get()) != 0) report_leak("rdma_leave_multicast", -1);
}

void MulticastGroup::attach(ibv_qp& qp) {
  check_errno_value(ibv_attach_mcast(&qp, &service_.way.grh.dgid, service_.way.dlid),
                    "ibv_attach_mcast",
                    fmt::format("QP {:#x} ({} attached before) to the group {}", qp.qp_num,
                                attached_.size(), group_.text()));
  attached_.push_back(&qp);
}

std::string random_group(int family) {
  std::random_device random;
  return family != AF_INET6
             ? fmt::format("239.255.{}.{}", random() % 256, 1 + random() % 254)
             : fmt::format("ff15::{:x}:{:x}", 1 + random() % 0xffff, 1 + random() % 0xffff);
}

}  // namespace rdmameter
