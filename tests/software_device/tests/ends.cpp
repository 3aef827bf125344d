// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/tests/ends.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include "tests/software_device/device/settings.h"
#include "tests/software_device/segment/tables.h"

namespace rdmameter::software::testing {
namespace {

/// Another program of tests, that runs beside this one, may have another personality.
[[maybe_unused]] const int own_session =
    setenv("RDMAMETER_DEVICE_SESSION", ("test-" + std::to_string(getpid())).c_str(), 0);

ibv_context* open_device(int index) {
  int count = 0;
  ibv_device** const list = ibv_get_device_list(&count);
  EXPECT_EQ(count, 2);
  ibv_context* const context = ibv_open_device(list[index]);
  ibv_free_device_list(list);
  return context;
}

void settings_have_changed() {
  reread_settings();
  const std::uint64_t agreement = settings().agreement;
  if (segment_base != nullptr) tables().agreement = agreement;
}

std::byte pattern(unsigned seed, std::size_t at) {
  return static_cast<std::byte>(at * 7 + seed);
}

}  // namespace

WithSettings::WithSettings(std::string variable, const std::string& value)
    : variable_(std::move(variable)) {
  setenv(variable_.c_str(), value.c_str(), 1);
  settings_have_changed();
}
WithSettings::~WithSettings() {
  unsetenv(variable_.c_str());
  settings_have_changed();
}

End::End(int device, ibv_comp_channel* (*make_channel)(ibv_context*))
    : context(open_device(device)),
      pd(ibv_alloc_pd(context.get())),
      channel(make_channel != nullptr ? make_channel(context.get()) : nullptr),
      send_cq(ibv_create_cq(context.get(), 4 * kDepth, nullptr, channel.get(), 0)),
      recv_cq(ibv_create_cq(context.get(), 4 * kDepth, nullptr, channel.get(), 0)),
      mr(ibv_reg_mr(pd.get(), memory.data(), memory.size(), kAllAccess)) {
  EXPECT_NE(mr, nullptr);
}

ibv_qp* End::add_qp(ibv_qp_type type, ibv_srq* from_srq, bool signal_all) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = send_cq.get();
  wanted.recv_cq = recv_cq.get();
  wanted.srq = from_srq;
  wanted.qp_type = type;
  wanted.sq_sig_all = signal_all ? 1 : 0;
  wanted.cap = {kDepth, kDepth, 4, 4, 512};
  Qp qp(ibv_create_qp(pd.get(), &wanted));
  EXPECT_NE(qp, nullptr);
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = 1;
  init.qkey = kQkey;
  init.qp_access_flags = kAllAccess;
  EXPECT_EQ(ibv_modify_qp(qp.get(), &init,
                          IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                              (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)),
            0);
  return qps.emplace_back(std::move(qp)).get();
}

Pair::Pair(ibv_qp_type type, const Patience& patience, int second_device,
           ibv_comp_channel* (*make_channel)(ibv_context*))
    : b(second_device, make_channel), here(a.add_qp(type)), there(b.add_qp(type)) {
  connect(*here, *there, patience);
}

ibv_send_wr Pair::request(ibv_wr_opcode opcode, std::uint32_t length, unsigned flags) {
  source = a.sge(0, length);
  return to_remote(testing::request(opcode, source, flags), b.address());
}

Address End::address() const {
  return {qps.front()->qp_num, mr->rkey, reinterpret_cast<std::uint64_t>(memory.data())};
}

ibv_sge End::sge(std::uint64_t offset, std::uint32_t length) const {
  return {reinterpret_cast<std::uint64_t>(memory.data()) + offset, length, mr->lkey};
}

ibv_qp_attr rtr_attributes(std::uint32_t peer_qpn, const Patience& patience) {
  ibv_qp_attr made{};
  made.qp_state = IBV_QPS_RTR;
  made.path_mtu = IBV_MTU_4096;
  made.dest_qp_num = peer_qpn;
  made.max_dest_rd_atomic = 1;
  made.min_rnr_timer = patience.min_rnr_timer;
  made.ah_attr.is_global = 1;
  made.ah_attr.port_num = 1;
  made.ah_attr.grh.sgid_index = kGidIndex;
  return made;
}

int rtr_mask(ibv_qp_type type) {
  int mask = IBV_QP_STATE;
  if (type != IBV_QPT_UD) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (type == IBV_QPT_RC) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return mask;
}

void connect(ibv_qp& qp, std::uint32_t peer_qpn, const Patience& patience) {
  ibv_qp_attr rtr = rtr_attributes(peer_qpn, patience);
  ASSERT_EQ(ibv_modify_qp(&qp, &rtr, rtr_mask(qp.qp_type)), 0);
  ibv_qp_attr rts{};
  rts.qp_state = IBV_QPS_RTS;
  rts.timeout = patience.timeout;
  rts.retry_cnt = patience.retry_count;
  rts.rnr_retry = patience.rnr_retry;
  rts.max_rd_atomic = 1;
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (qp.qp_type == IBV_QPT_RC)
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  ASSERT_EQ(ibv_modify_qp(&qp, &rts, mask), 0);
}

void connect(ibv_qp& here, ibv_qp& there, const Patience& patience) {
  connect(here, there.qp_num, patience);
  connect(there, here.qp_num, patience);
}

Ah address_handle(ibv_pd& pd) {
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = 1;
  attributes.grh.sgid_index = kGidIndex;
  Ah made(ibv_create_ah(&pd, &attributes));
  EXPECT_NE(made, nullptr);
  return made;
}

void fill(std::span<std::byte> bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern(seed, i);
}

bool holds(std::span<const std::byte> bytes, unsigned seed) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != pattern(seed, i)) return false;
  return true;
}

ibv_send_wr request(ibv_wr_opcode opcode, ibv_sge& sge, unsigned flags) {
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.send_flags = flags;
  return wr;
}

ibv_send_wr to_remote(ibv_send_wr wr, const Address& peer, std::uint64_t offset) {
  wr.wr.rdma.remote_addr = peer.memory + offset;
  wr.wr.rdma.rkey = peer.rkey;
  return wr;
}

int post_send(ibv_qp& qp, ibv_send_wr wr) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(&qp, &wr, &bad);
}

int post_recv(ibv_qp& qp, std::uint64_t wr_id, std::span<const ibv_sge> sges) {
  std::vector<ibv_sge> list(sges.begin(), sges.end());
  ibv_recv_wr wr{wr_id, nullptr, list.data(), static_cast<int>(list.size())};
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(&qp, &wr, &bad);
}

ibv_wc next_completion(ibv_cq& cq, std::chrono::milliseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  ibv_wc wc{};
  while (ibv_poll_cq(&cq, 1, &wc) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      ADD_FAILURE() << "no completion within " << deadline.count() << " ms";
      wc.status = IBV_WC_GENERAL_ERR;
      return wc;
    }
    std::this_thread::yield();
  }
  return wc;
}

bool is_empty(ibv_cq& cq) {
  ibv_wc wc{};
  return ibv_poll_cq(&cq, 1, &wc) == 0;
}

}  // namespace rdmameter::software::testing
