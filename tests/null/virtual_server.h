// SPDX-License-Identifier: Apache-2.0
// The open loop on a virtual clock, in front of a server that takes one request at a time for a
// fixed time.
#pragma once

#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/engine/account/load.h"
#include "core/engine/loop/open_loop.h"

namespace rdmameter {

inline constexpr std::uint64_t kService_ns = 1'000'000;
inline constexpr double kCapacity_per_s = 1e9 / kService_ns;

/// Time passes only where a poll finds nothing and nothing was posted before it: until the next
/// thing happens.
struct VirtualServer {
  std::uint64_t now_ns = 0, free_at_ns = 0;
  struct Request {
    std::uint64_t done_at_ns, wr_id;
  };
  std::deque<Request> requests;
  std::vector<std::uint64_t> due_ns;
  std::size_t next_due = 0;
  /// The loop gets no CPU time.
  std::uint64_t stall_at_ns = std::numeric_limits<std::uint64_t>::max(), stall_ns = 0;
  std::uint64_t pause_at_ns = 0, pause_ns = 0;  ///< it serves nobody
  LoopTally* interrupted = nullptr;             ///< by its user, from then on; null: it is not
  std::uint64_t interrupt_at_ns = 0;
  std::uint64_t posts = 0, posts_before = 0;
  std::vector<std::uint64_t> part_service_ns;  ///< of each part of a mix; empty: there is none

  std::uint64_t service_of(std::uint64_t wr_id) const {
    if (part_service_ns.empty()) return kService_ns;
    const auto* list = reinterpret_cast<const SendList*>(wr_id);
    return part_service_ns[static_cast<const MixList*>(list)->part];
  }

  void take(std::uint64_t wr_id) {
    std::uint64_t begin_ns = std::max(now_ns, free_at_ns);
    if (begin_ns >= pause_at_ns) begin_ns = std::max(begin_ns, pause_at_ns + pause_ns);
    free_at_ns = begin_ns + service_of(wr_id);
    requests.push_back({free_at_ns, wr_id});
    ++posts;
  }

  void pass_time() {
    if (interrupted != nullptr && now_ns >= interrupt_at_ns)
      std::exchange(interrupted, nullptr)->end_now();
    if (std::exchange(posts_before, posts) != posts) return;
    while (next_due < due_ns.size() && due_ns[next_due] <= now_ns) ++next_due;
    std::uint64_t next_ns = std::numeric_limits<std::uint64_t>::max();
    if (next_due < due_ns.size()) next_ns = due_ns[next_due];
    if (!requests.empty()) next_ns = std::min(next_ns, requests.front().done_at_ns);
    if (next_ns == std::numeric_limits<std::uint64_t>::max()) next_ns = now_ns + 1000;
    now_ns = std::max(now_ns, next_ns);
    if (now_ns < stall_at_ns) return;
    now_ns += stall_ns;
    stall_at_ns = std::numeric_limits<std::uint64_t>::max();
  }
};

inline VirtualServer* virtual_server = nullptr;  // a policy has no state

struct VirtualClock {
  std::uint64_t now() const noexcept { return virtual_server->now_ns; }
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept { return ticks; }
  std::uint64_t to_ticks(std::uint64_t ns) const noexcept { return ns; }
};

struct ServerPost {
  static int post(const LoopState&, const Lane&, ibv_send_wr* head) noexcept {
    virtual_server->take(head->wr_id);
    return 0;
  }
};

struct ServerCq {
  using Handle = ibv_cq*;
  static Handle of(const CqRing& cqs) noexcept { return cqs.cq; }
  template <bool kImmediate = false>
  static int poll(ibv_cq*, int max, ibv_wc* wcs) noexcept {
    VirtualServer& server = *virtual_server;
    int taken = 0;
    for (; taken < max && !server.requests.empty(); ++taken) {
      if (server.requests.front().done_at_ns > server.now_ns) break;
      wcs[taken] = {.wr_id = server.requests.front().wr_id, .status = IBV_WC_SUCCESS};
      server.requests.pop_front();
    }
    if (taken == 0) server.pass_time();
    return taken;
  }
};

using VirtualPolicy = Policy<VirtualClock, SpinWait, ServerPost, ServerCq>;

/// One run of the loop, and what it left.
struct VirtualRun {
  explicit VirtualRun(const TestCase& new_case, std::uint64_t seed = 1)
      : test_case(new_case),
        gaps_ns(draw_gaps_ns(new_case, seed)),
        offered(new_case, seed),
        lists(new_case.qps * mix_of(new_case).size() * new_case.queues.depth),
        wrs(lists.size()),
        lanes(std::make_unique<Lane[]>(new_case.qps)) {
    const std::size_t depth = test_case.queues.depth, parts = mix_of(test_case).size();
    for (std::size_t i = 0; i < lists.size(); ++i) {
      wrs[i].wr_id = reinterpret_cast<std::uint64_t>(&lists[i]);
      Lane& lane = lanes[i / depth / parts];
      lists[i].head = &wrs[i];
      lists[i].next = &lists[(i + 1) % depth == 0 ? i + 1 - depth : i + 1];
      lists[i].lane = &lane;
      lists[i].part = static_cast<std::uint32_t>(i / depth % parts);
      if (i % depth == 0) mix_send.push_back(&lists[i]);
      if (i % depth == 0) lane.send = &lists[i];
    }
    loop_state.lanes = lanes.get();
    loop_state.lane_count = static_cast<std::uint32_t>(test_case.qps);
    loop_state.depth = static_cast<std::uint32_t>(depth);
    loop_state.open_loop = &offered.loop();
    offered.loop().mix.send = mix_send.data();
    std::uint64_t due_ns = 0;
    for (const std::uint64_t gap : gaps_ns) server.due_ns.push_back(due_ns += gap);
    plan.operations = test_case.iterations == 0 ? plan.operations : test_case.iterations;
    plan.duration_ns = test_case.duration_ns;
    plan.warmup = test_case.warmup;
    tally.latency = response.get();
    tally.scratch = scratch.get();
  }

  LoopResult run() {
    virtual_server = &server;
    const auto initiator = test_case.mixed()
                               ? open_loop_initiator<OfMix<ByCompletion>, VirtualPolicy>
                               : open_loop_initiator<ByCompletion, VirtualPolicy>;
    return initiator(loop_state, plan, VirtualClock{}, stop, tally);
  }

  double mean_ns() const {
    return static_cast<double>(response->sum_ns()) / static_cast<double>(tally.operations);
  }

  TestCase test_case;
  std::vector<std::uint64_t> gaps_ns;
  OpenLoopSchedule offered;
  std::vector<MixList> lists;
  std::vector<SendList*> mix_send;
  std::vector<ibv_send_wr> wrs;
  std::unique_ptr<Lane[]> lanes;
  VirtualServer server;
  LoopState loop_state;
  LoopPlan plan;
  StopFlag stop;
  LoopTally tally;
  std::unique_ptr<Histogram> response = std::make_unique<Histogram>();
  std::unique_ptr<Histogram> scratch = std::make_unique<Histogram>();
};

inline TestCase load_case(double utilisation, std::uint64_t requests, std::uint64_t depth) {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::open_loop);
  test_case.rate = static_cast<std::uint64_t>(std::llround(utilisation * kCapacity_per_s));
  test_case.iterations = requests;
  test_case.warmup = 0;
  test_case.queues.depth = depth;
  return test_case;
}

}  // namespace rdmameter
