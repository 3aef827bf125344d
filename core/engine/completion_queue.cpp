// SPDX-License-Identifier: Apache-2.0
#include "core/engine/completion_queue.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/verbs/check.h"

namespace rdmameter {

CompletionQueues::CompletionQueues(ibv_context& context, const CqPlan& plan,
                                   const TestCase& test_case, const std::string& where)
    : queues_(std::make_unique<Queue[]>(plan.count)) {
  const std::string object = fmt::format("{} of {} entries on {}", plan.which, plan.entries, where);
  if (test_case.wait == Wait::event) {
    channel_.reset(check_pointer([&] { return ibv_create_comp_channel(&context); },
                                 "ibv_create_comp_channel", object));
    // The wait sleeps in poll(), which may be wrong about an event (poll(2), "spurious").
    const int flags = fcntl(channel_->fd, F_GETFL);
    check_minus_one(fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK), "fcntl", object);
  }
  for (std::uint64_t i = 0; i < plan.count; ++i) {
    create(queues_[i], context, plan, test_case, object);
    all_.push_back(queues_[i].get());
  }
}

void CompletionQueues::create(Queue& queue, ibv_context& context, const CqPlan& plan,
                              const TestCase& test_case, const std::string& object) {
  queue.events.channel = channel_.get();
  const int entries = static_cast<int>(std::max<std::uint64_t>(plan.entries, 1));
  const int vector = static_cast<int>(test_case.queues.comp_vector);
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = static_cast<std::uint32_t>(entries);
  attributes.cq_context = &queue.events;
  attributes.channel = channel_.get();
  attributes.comp_vector = static_cast<std::uint32_t>(vector);
  if (test_case.extended_cq()) {
    attributes.wc_flags = IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM;
    if (plan.timestamps) attributes.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  }
  if (plan.domain != nullptr && create_single_threaded(queue, context, plan.domain, attributes))
    return;
  if (!test_case.extended_cq()) {
    queue.plain.reset(check_pointer(
        [&] { return ibv_create_cq(&context, entries, &queue.events, channel_.get(), vector); },
        "ibv_create_cq", object));
    return;
  }
  queue.extended.reset(check_pointer([&] { return ibv_create_cq_ex(&context, &attributes); },
                                     "ibv_create_cq_ex", object));
}

/// ibv_poll_cq() polls it, too. What that leaves out is the provider's own (rdma-core 65): mlx5 and
/// EFA the lock of ibv_start_poll(), and never that of ibv_poll_cq() (cq.c, poll_cq(); verbs.c,
/// efa_poll_cq()); hns both by the domain (hns_roce_whether_need_lock()).
bool CompletionQueues::create_single_threaded(Queue& queue, ibv_context& context, ibv_pd* domain,
                                              ibv_cq_init_attr_ex attributes) {
  attributes.flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
  attributes.parent_domain = domain;
  for (const std::uint32_t mask :
       {std::uint32_t{IBV_CQ_INIT_ATTR_MASK_FLAGS} | IBV_CQ_INIT_ATTR_MASK_PD,
        std::uint32_t{IBV_CQ_INIT_ATTR_MASK_FLAGS}}) {
    attributes.comp_mask = mask;
    queue.extended.reset(ibv_create_cq_ex(&context, &attributes));
    if (!queue.extended) continue;
    ++single_threaded_;
    return true;
  }
  return false;
}

CompletionQueues::Queue::~Queue() {
  // ibv_destroy_cq() waits until every event that was taken has been acknowledged.
  if (events.unacknowledged != 0) ibv_ack_cq_events(get(), events.unacknowledged);
}

}  // namespace rdmameter
