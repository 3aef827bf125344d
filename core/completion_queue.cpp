// SPDX-License-Identifier: Apache-2.0
#include "core/completion_queue.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"

namespace rdmameter {

CompletionQueue::CompletionQueue(ibv_context& context, std::uint64_t cqes, const Case& one_case,
                                 const std::string& which, const std::string& where) {
  const std::string object = fmt::format("{} of {} entries on {}", which, cqes, where);
  if (one_case.waiting() == Wait::event) {
    channel_.reset(
        check_pointer(ibv_create_comp_channel(&context), "ibv_create_comp_channel", object));
    events_.channel = channel_.get();
    // The wait sleeps in poll(), which may be wrong about an event (poll(2), "spurious").
    const int flags = fcntl(channel_->fd, F_GETFL);
    check_minus_one(fcntl(channel_->fd, F_SETFL, flags | O_NONBLOCK), "fcntl", object);
  }
  const int entries = static_cast<int>(std::max<std::uint64_t>(cqes, 1));
  if (!one_case.extended_cq()) {
    plain_.reset(check_pointer(ibv_create_cq(&context, entries, &events_, channel_.get(), 0),
                               "ibv_create_cq", object));
    return;
  }
  ibv_cq_init_attr_ex attributes{};
  attributes.cqe = static_cast<std::uint32_t>(entries);
  attributes.cq_context = &events_;
  attributes.channel = channel_.get();
  attributes.wc_flags = IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM;
  extended_.reset(
      check_pointer(ibv_create_cq_ex(&context, &attributes), "ibv_create_cq_ex", object));
}

CompletionQueue::~CompletionQueue() {
  // ibv_destroy_cq() waits until every event that was taken has been acknowledged.
  if (events_.unacknowledged != 0) ibv_ack_cq_events(get(), events_.unacknowledged);
}

}  // namespace rdmameter
