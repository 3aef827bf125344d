// SPDX-License-Identifier: Apache-2.0
#include "core/engine/credits.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/engine/layout/layout.h"
#include "core/engine/work.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

/// Receives that are granted together: a third of them, as perftest does (its send_bw), in whole
/// lists, or fewer, so that there is always a post list's worth.
std::uint32_t granted_together(const TestCase& test_case) {
  const auto depth = static_cast<std::uint32_t>(test_case.queues.rx_depth);
  const auto list = static_cast<std::uint32_t>(test_case.queues.recv_post_list);
  const std::uint32_t third = std::max(depth / 3 / list, 1U) * list;
  return test_case.queues.post_list + third - 1 <= depth ? third : list;
}

[[noreturn]] void refuse(const std::string& what, const std::string& remedy) {
  throw Unsupported("{}: over iWARP a send that finds no receive ends the connection; {}", what,
                    remedy);
}

/// @return how many receives may be taken and not granted again, whatever the case sends
std::uint64_t taken_at_once(std::uint64_t list, bool credited) {
  return credited ? list - 1 : list;  // an answer goes before its receive is posted again
}

}  // namespace

bool needs_credits(const TestCase& test_case, bool iwarp) {
  return iwarp && test_case.takes_receive() &&
         (test_case.pattern == Pattern::bandwidth ||
          test_case.pattern == Pattern::completion_latency);
}

std::uint64_t receive_list_for_iwarp(const TestCase& test_case) {
  const QueueSettings& queues = test_case.queues;
  std::uint64_t list = queues.recv_post_list;
  if (!test_case.takes_receive() || test_case.control()) return list;
  const bool credited = needs_credits(test_case, true);
  if (credited && test_case.shares_qps())
    refuse("sends of several threads over one QP", "use --sharers 1, or RDMA WRITEs");
  if (credited && test_case.watched())
    refuse("--blame of a completion latency of sends", "use it with another test");
  const std::uint64_t at_once = credited ? queues.post_list : 1;
  if (list == kAuto) {
    const auto depth = static_cast<std::uint32_t>(queues.rx_depth);
    const std::uint64_t beside = depth - std::min<std::uint64_t>(depth, at_once);
    const auto longest =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(depth / 3, beside + (credited ? 1 : 0)));
    list = test_case.shared_receives() ? 1  // whose receives come back in no order
                                       : receive_list_length(depth, std::max(longest, 1U));
  }
  if (test_case.shared_receives() && list != 1)
    refuse(fmt::format("--recv-post-list {} of an SRQ", list), "use --recv-post-list 1");
  const std::uint64_t need = at_once + taken_at_once(list, credited);
  if (need > queues.rx_depth)
    refuse(fmt::format("{} receives in lists of {}", queues.rx_depth, list),
           fmt::format("use --rx-depth {} or more", (need + list - 1) / list * list));
  return list;
}

std::uint32_t most_unanswered(const TestCase& test_case) {
  return static_cast<std::uint32_t>(test_case.queues.rx_depth -
                                    taken_at_once(test_case.queues.recv_post_list, false));
}

Credits::Credits(ibv_pd& pd, const TestCase& test_case, int peer_access, const std::string& where) {
  const std::size_t count = test_case.shared_receives() ? 1 : test_case.qps;
  words_ = std::make_unique<Words[]>(count);
  credits_.resize(count);
  const auto window = static_cast<std::uint32_t>(posted_receives(test_case));
  for (std::size_t i = 0; i < count; ++i) {
    words_[i] = {.granted = window, .posted = window};
    credits_[i].granted = &words_[i].granted;
    credits_[i].count = window;
    credits_[i].posted = &words_[i].posted;
    credits_[i].every = granted_together(test_case);
  }
  mr_.reset(check_pointer(
      [&] {
        return ibv_reg_mr(&pd, words_.get(), count * sizeof(Words),
                          IBV_ACCESS_LOCAL_WRITE | peer_access);
      },
      "ibv_reg_mr", fmt::format("{} bytes of credits on {}", count * sizeof(Words), where)));
}

void Credits::aim(std::span<ibv_qp* const> qps, std::uint64_t peer_address,
                  std::uint32_t peer_rkey) {
  for (std::size_t i = 0; i < credits_.size(); ++i) {
    Credit& credit = credits_[i];
    credit.qp = qps[i];
    credit.sge = {.addr = reinterpret_cast<std::uint64_t>(&words_[i].posted),
                  .length = sizeof words_[i].posted,
                  .lkey = mr_->lkey};
    credit.write = {.wr_id = reinterpret_cast<std::uint64_t>(&credit),
                    .sg_list = &credit.sge,
                    .num_sge = 1,
                    .opcode = IBV_WR_RDMA_WRITE,
                    .send_flags = IBV_SEND_SIGNALED};
    credit.write.wr.rdma.remote_addr = peer_address + i * sizeof(Words);
    credit.write.wr.rdma.rkey = peer_rkey;
  }
}

}  // namespace rdmameter
