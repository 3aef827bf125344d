// SPDX-License-Identifier: Apache-2.0
// Runs a rank that passes messages on, or the barest loop of one post and one poll, for counting
// instructions from outside:
//   relay_driver one_post_one_poll|relay|relay_one_by_one|relay_shared|collective COUNT
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/instrument/clock.h"
#include "tests/topologies/fabric.h"
#include "topologies/ranks/loop/collective_loop.h"

namespace rdmameter {
namespace null_verbs {

/// A message from rank 1 to rank 2 comes in at rank 0, which lies between.
[[gnu::noinline]] void feed(FakeRank& relay) {
  NullQp& in = relay.qps()[0].base;
  const std::uint64_t wr_id = in.receives[in.receives_out++ & (in.receives.size() - 1)];
  complete(relay.cq(), in, wr_id, IBV_WC_RECV, IBV_WC_SUCCESS, htonl(label(1, 2)));
}

/// Rank 2 takes everything at once.
[[gnu::noinline]] void take(FakeRank& relay) {
  const CreditWindow& onward = relay.links()[1].credit_windows[1];
  *onward.credited = onward.sent;
}

/// Every WR is done at once; nothing moves.
[[gnu::noinline]] int complete_send(ibv_qp* verbs_qp, ibv_send_wr* wr, ibv_send_wr**) {
  NullQp& qp = null_qp(verbs_qp);
  for (; wr != nullptr; wr = wr->next)
    if ((wr->send_flags & IBV_SEND_SIGNALED) != 0)
      complete(*qp.send_cq, qp, wr->wr_id,
               wr->opcode == IBV_WR_RDMA_WRITE ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
  return 0;
}

/// As complete_send(); and for each message that a collective sends one comes back.
[[gnu::noinline]] int complete_and_answer(ibv_qp* verbs_qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  NullQp& qp = null_qp(verbs_qp);
  for (const ibv_send_wr* each = wr; each != nullptr; each = each->next) {
    if (each->opcode == IBV_WR_RDMA_WRITE) continue;
    Link& link = *hop_of(*each).link;
    ++*const_cast<std::uint32_t*>(link.credit_windows[0].credited);
    const std::uint64_t wr_id = qp.receives[qp.receives_out++ & (qp.receives.size() - 1)];
    complete(*qp.recv_cq, qp, wr_id, IBV_WC_RECV, IBV_WC_SUCCESS, htonl(label(1, 0)));
  }
  return complete_send(verbs_qp, wr, bad);
}

[[gnu::noinline]] int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return post_recv(static_cast<ibv_qp*>(srq->srq_context), wr, bad);
}

}  // namespace null_verbs

struct Instance;

/// The yardstick: what anything that sends a message and sees it completed needs.
template <class>
[[gnu::noinline]] std::uint64_t run(FakeRank& rank, ibv_send_wr& wr, std::uint64_t count) {
  ibv_cq* const* const cqs = rank.state().cqs;
  ibv_send_wr* bad;
  ibv_wc wc;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (ibv_post_send(rank.links()[0].qp, &wr, &bad) != 0) return i;
    if (ibv_poll_cq(cqs[0], 1, &wc) != 1 || wc.status != IBV_WC_SUCCESS) return i;
  }
  return count;
}

/// @param at_once  messages that come in together
template <ReceiveMode kReceive>
[[gnu::noinline]] std::uint64_t run(FakeRank& rank, std::uint64_t count, std::uint32_t at_once) {
  for (std::uint64_t i = 0; i < count; i += at_once) {
    for (std::uint32_t k = 0; k < at_once; ++k) null_verbs::feed(rank);
    while (step<kReceive>(rank.state()) != 0) {
    }
    null_verbs::take(rank);
  }
  return rank.links()[1].credit_windows[1].sent;
}

/// One collective.
template <class P>
[[gnu::noinline]] void run(RankState& state) {
  collective<P>(state, 1, {}, StopFlag());
}

/// A collective of so many steps of one message each way. @return  of these, those that came
[[gnu::noinline]] std::uint64_t run_collective(FakeRank& rank, std::uint64_t count) {
  constexpr std::uint64_t kWords = 2;
  std::vector<std::uint32_t> words(kWords);
  const WordTarget target{.to = words.data(), .added_to = words.data(), .count = kWords};
  std::vector<Hop> hops(count);
  std::vector<Hop*> hop_pointers;
  std::vector<Arrival> arrivals(count,
                                {.targets = {&target, 1}, .bytes = kWords * sizeof(std::uint32_t)});
  std::vector<Arrival*> arrival_pointers;
  std::vector<StepWork> steps;
  for (std::uint64_t i = 0; i < count; ++i) {
    hops[i].wr = {};
    hops[i].wr.opcode = IBV_WR_SEND_WITH_IMM;
    hops[i].link = &rank.links()[0];
    hop_pointers.push_back(&hops[i]);
    arrival_pointers.push_back(&arrivals[i]);
    steps.push_back(
        {.hop = &hops[i], .arrival = &arrivals[i], .left_before = static_cast<std::uint32_t>(i)});
  }
  std::vector<ArrivalQueue> queues(2);
  queues[1].first = arrival_pointers.data();
  const std::uint32_t source = 1;
  std::uint64_t sample = 0;
  volatile std::uint64_t epoch = 0;
  Barrier barrier;
  barrier.epoch = &epoch;
  CollectiveWork own{.steps = steps,
                     .hops = hop_pointers.data(),
                     .queues = queues.data(),
                     .sources = {&source, 1},
                     .samples = &sample};
  RankState& state = rank.state();
  state.barrier = &barrier;
  state.collective = &own;
  state.deliver = take_part;
  run<RankPolicy<KernelClock, SpinWait, ReceiveMode::sized>>(state);
  return state.operations == 1 ? state.arrived : 0;
}

}  // namespace rdmameter

int main(int argc, char** argv) {
  using namespace rdmameter;
  if (argc != 3) return 2;
  const std::string test = argv[1];
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  TestCase test_case = default_topology_case();
  test_case.graph = "star";
  test_case.traffic = "random";  // so that there is room for any number
  test_case.ranks = 3;
  Fabric fabric(test_case);
  FakeRank& rank = fabric.rank(0);
  ibv_context* const context = rank.links()[0].qp->context;
  context->ops.post_send = null_verbs::complete_send;
  context->ops.post_srq_recv = null_verbs::post_srq_recv;
  std::uint64_t done = 0;
  if (test == "one_post_one_poll") {
    ibv_send_wr wr{};
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED;
    done = run<Instance>(rank, wr, count);
  } else if (test == "relay_shared") {
    ibv_srq srq{};
    srq.context = context;
    srq.srq_context = rank.links()[0].qp;
    std::vector<Link*> by_qpn{&rank.links()[0], &rank.links()[1]};
    rank.state().link_of_qpn = by_qpn.data();
    rank.state().qpn_mask = 1;
    for (Link& link : rank.links()) link.srq = &srq;
    done = run<ReceiveMode::shared>(rank, count, 8);
  } else if (test == "collective") {
    context->ops.post_send = null_verbs::complete_and_answer;
    done = run_collective(rank, count);
  } else {
    done = run<ReceiveMode::own>(rank, count, test == "relay" ? 8 : 1);
  }
  std::printf("%llu\n", static_cast<unsigned long long>(done));
  return done >= count ? 0 : 1;
}
