// SPDX-License-Identifier: Apache-2.0
// Ranks of one process in virtual time: QPs and CQs whose messages take the time that a network
// model gives them, and a fiber for each rank, which runs while its clock stands still.
//
// A rank has a port to the network, one within its host, and one to other NUMA nodes of it. A
// message leaves when those posted before it have left, byte by byte; at the other end its bytes
// wait for those of messages that began to come before it. Ranks themselves take no time: what a
// CPU takes is part of the delays.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "core/base/stop.h"
#include "topologies/simulator/fiber.h"
#include "topologies/simulator/sim_network.h"

namespace rdmameter {

class SimFabric;

struct SimCq {
  ibv_cq cq{};  // first: what ibv_poll_cq() is given
  std::deque<ibv_wc> completions;
};

struct SimQp {
  ibv_qp qp{};  // first
  SimFabric* fabric = nullptr;
  SimCq* cq = nullptr;
  SimQp* peer = nullptr;
  Rank rank = 0;
  std::deque<std::uint64_t> receives;  ///< wr_ids
};

class SimFabric {
 public:
  /// @param moves_payload  copies what messages hold; else only their times are simulated
  SimFabric(const SimNetwork& network, Rank ranks, bool moves_payload);
  SimFabric(SimFabric&&) = delete;

  // Owned by the fabric. Receives' wr_ids are those of MessageBuffer.
  ibv_cq* make_cq();
  ibv_qp* make_qp(Rank rank, ibv_cq* cq);
  static void connect(ibv_qp* one, ibv_qp* other);

  /// Runs a body for each rank until all have ended. In it VirtualClock has the time, and
  /// VirtualWait waits for something to come.
  /// @param body  throws nothing; ends at its next empty poll where `stop` is requested
  /// @throws MeasurementError  ranks wait for what never comes
  /// @throws Interrupted  `stop` was requested
  void run(const std::function<void(Rank)>& body, const StopFlag& stop);

  std::uint64_t now_ps() const { return now_ps_; }
  /// Messages that found no receive; an RNR NAK each, and lost here.
  std::uint64_t not_ready() const { return not_ready_; }

 private:
  /// When its first byte reaches the other port, its last one the memory, and its ACK the sender.
  enum class Step { head, arrival, acknowledged };
  struct Message {
    SimQp* from;
    std::uint64_t wr_id;
    const void* data;
    std::uint64_t remote_address;  ///< of an RDMA WRITE
    std::uint32_t bytes, immediate;
    bool write, signaled;
    std::vector<std::uint8_t> words;  ///< of an RDMA WRITE, as they were when it was posted
  };
  struct Event {
    std::uint64_t at_ps, order;
    std::uint32_t message;
    Step step;
    auto operator<=>(const Event&) const = default;  // no two have the same order
  };
  struct Port {
    std::uint64_t out_free_ps = 0, in_free_ps = 0;
  };

  static int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad);
  static int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
  static int poll_cq(ibv_cq* cq, int max, ibv_wc* wcs);

  void send(SimQp& qp, const ibv_send_wr& wr);
  std::uint32_t new_message();
  void schedule(std::uint64_t at_ps, std::uint32_t message, Step step) {
    events_.push({at_ps, order_++, message, step});
  }
  void handle(const Event& event);
  void deliver(Message& message);
  void complete(SimQp& qp, std::uint64_t wr_id, ibv_wc_opcode opcode, std::uint32_t immediate = 0);
  void wake(Rank rank);
  void resume_ready();
  void pass_time(const StopFlag& stop);
  void end_all();
  Port& port(Rank rank, Rank other) {
    return ports_[rank][static_cast<std::size_t>(network_.kind(rank, other))];
  }

  const SimNetwork network_;
  const bool moves_payload_;
  ibv_context context_{};
  std::deque<SimCq> cqs_;
  std::deque<SimQp> qps_;
  std::vector<std::array<Port, kSimKinds.size()>> ports_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Message> messages_;
  std::vector<std::uint32_t> free_messages_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Rank> ready_;
  std::vector<bool> is_ready_;
  std::uint64_t now_ps_ = 0, order_ = 0, not_ready_ = 0;
};

/// The time of the fabric that runs on this thread. A tick is a picosecond.
struct VirtualClock {
  std::uint64_t now() const noexcept;
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept {
    return (ticks + kPsPerNs / 2) / kPsPerNs;
  }
  std::uint64_t to_ticks(std::uint64_t ns) const noexcept { return ns * kPsPerNs; }
};

/// Time goes on until something has come for the rank.
struct VirtualWait {
  static constexpr bool kSleeps = false;
  void operator()(const ibv_cq*) const noexcept { Fiber::wait(); }
};

}  // namespace rdmameter
