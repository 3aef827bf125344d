// SPDX-License-Identifier: Apache-2.0
// What the tests of the software device share: an end with its objects, and the steps of verbs that
// every test takes.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rdmameter::software::testing {

template <auto Destroy>
struct Ending {
  template <class Object>
  void operator()(Object* object) const noexcept {
    EXPECT_EQ(Destroy(object), 0);
  }
};
using Context = std::unique_ptr<ibv_context, Ending<ibv_close_device>>;
using Pd = std::unique_ptr<ibv_pd, Ending<ibv_dealloc_pd>>;
using Cq = std::unique_ptr<ibv_cq, Ending<ibv_destroy_cq>>;
using Mr = std::unique_ptr<ibv_mr, Ending<ibv_dereg_mr>>;
using Qp = std::unique_ptr<ibv_qp, Ending<ibv_destroy_qp>>;
using Srq = std::unique_ptr<ibv_srq, Ending<ibv_destroy_srq>>;
using Ah = std::unique_ptr<ibv_ah, Ending<ibv_destroy_ah>>;
using Channel = std::unique_ptr<ibv_comp_channel, Ending<ibv_destroy_comp_channel>>;

inline constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
inline constexpr std::uint32_t kQkey = 0x1234;
inline constexpr std::uint32_t kDepth = 64;
inline constexpr std::uint8_t kGidIndex = 3;  // RoCE v2 over IPv4

/// What one end tells the other.
struct Address {
  std::uint32_t qpn = 0, rkey = 0;
  std::uint64_t memory = 0;
};

/// How a connection behaves where nobody answers.
struct Patience {
  std::uint8_t timeout = 14, retry_count = 7, rnr_retry = 7, min_rnr_timer = 1;
};

/// A context, a domain, a CQ for each direction, and 64 KiB of registered memory.
struct End {
  explicit End(int device = 0, ibv_comp_channel* (*make_channel)(ibv_context*) = nullptr);

  ibv_qp* add_qp(ibv_qp_type type = IBV_QPT_RC, ibv_srq* srq = nullptr, bool signal_all = false);
  Address address() const;  ///< of the first QP
  ibv_sge sge(std::uint64_t offset, std::uint32_t length) const;

  Context context;
  Pd pd;
  Channel channel;
  Cq send_cq, recv_cq;
  std::vector<std::byte> memory = std::vector<std::byte>(64 << 10);
  Mr mr;
  Srq srq;
  std::vector<Qp> qps;
};

/// Two ends with a QP each, which are connected with each other.
struct Pair {
  explicit Pair(ibv_qp_type type = IBV_QPT_RC, const Patience& patience = {}, int second_device = 0,
                ibv_comp_channel* (*make_channel)(ibv_context*) = nullptr);
  /// A request of `here` for its first bytes; one-sided: on the first bytes of the other's memory.
  ibv_send_wr request(ibv_wr_opcode opcode, std::uint32_t length,
                      unsigned flags = IBV_SEND_SIGNALED);

  End a, b;  ///< a channel is of b
  ibv_qp *here = nullptr, *there = nullptr;
  ibv_sge source{};
};

/// The environment has this variable, and the device is as it says, while this exists. Ends come
/// after it and go before it.
class WithSettings {
 public:
  WithSettings(std::string variable, const std::string& value);
  WithSettings(WithSettings&&) = delete;
  ~WithSettings();

 private:
  const std::string variable_;
};

/// INIT -> RTR -> RTS; each step must succeed.
void connect(ibv_qp& qp, std::uint32_t peer_qpn, const Patience& patience = {});
/// Each with the other.
void connect(ibv_qp& here, ibv_qp& there, const Patience& patience = {});
ibv_qp_attr rtr_attributes(std::uint32_t peer_qpn, const Patience& patience = {});
int rtr_mask(ibv_qp_type type);
Ah address_handle(ibv_pd& pd);

void fill(std::span<std::byte> bytes, unsigned seed);
bool holds(std::span<const std::byte> bytes, unsigned seed);

/// A request of one piece, which must live until it is posted.
ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge& sge, unsigned flags = IBV_SEND_SIGNALED);
/// The same, on the peer's memory.
ibv_send_wr to_remote(ibv_send_wr wr, const Address& peer, std::uint64_t offset = 0);

int post_send(ibv_qp& qp, ibv_send_wr wr);
int post_recv(ibv_qp& qp, std::uint64_t wr_id, std::span<const ibv_sge> sges);

/// The next completion; a test whose completion does not come within the deadline fails.
ibv_wc next_completion(ibv_cq& cq,
                       std::chrono::milliseconds deadline = std::chrono::milliseconds(20000));
bool is_empty(ibv_cq& cq);

}  // namespace rdmameter::software::testing
