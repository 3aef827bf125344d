// SPDX-License-Identifier: Apache-2.0
// The built-in null device: QPs and CQs of a fake ibv_context whose operations complete at once,
// made with public headers only. The measured loops run on it unchanged, so what they take here is
// the instrument's own share of every number. It is not a model of any adapter.
//
// An imaginary peer echoes: a SEND takes one posted receive of its own QP, an RDMA WRITE stores the
// message's last byte at its remote address (which is our own target area), one with immediate does
// both; what brings data back moves nothing.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/engine/endpoint_view.h"
#include "core/engine/layout/layout.h"
#include "core/test_case/test_case.h"
#include "core/verbs/memory/memory.h"

namespace rdmameter {

/// How the imaginary peer or device misbehaves, for tests. Zero: not at all.
struct NullFaults {
  std::uint64_t lose_every = 0;       ///< every n-th message is never echoed
  std::uint64_t fail_completion = 0;  ///< the n-th send completion is a retry-exceeded error
  std::uint64_t fail_post = 0;        ///< the n-th post is refused with ENOMEM
  std::uint64_t silent_after = 0;     ///< after n messages nothing completes any more
};

struct NullCq {
  ibv_cq_ex cq{};            ///< begins as an ibv_cq does
  std::vector<ibv_wc> ring;  ///< a power of two
  std::uint32_t in = 0, out = 0;
  std::uint32_t polls = 0;

  ibv_cq* plain() { return ibv_cq_ex_to_cq(&cq); }
};

struct NullQp {
  ibv_qp_ex qp{};  ///< begins with an ibv_qp
  NullCq* send_cq = nullptr;
  NullCq* recv_cq = nullptr;
  std::vector<std::uint64_t> receives;  ///< wr_ids of posted receives, a ring, a power of two
  std::uint32_t receives_in = 0, receives_out = 0;
  bool source = false;  ///< every posted receive completes at once: a receiver's endless supply
  NumberPlace numbers = NumberPlace::none;  ///< of that
  std::uint32_t next_number = 0;
  std::uint64_t message_bytes = 0;
  ibv_send_wr building{};  ///< what ibv_wr_* says, up to the next one
  ibv_sge first_sge{};
  bool started = false;  ///< is there one in `building`?
  NullFaults faults;
  std::uint64_t messages = 0, posts = 0, completions = 0;
};

namespace null_verbs {  // a name of its own, by which tests/null/instructions.py leaves it out

// Of either interface. A cast is safe: what verbs.h knows begins where the null device's struct does.
inline NullCq& null_cq(ibv_cq* cq) {
  return *reinterpret_cast<NullCq*>(cq);
}
inline NullCq& null_cq(ibv_cq_ex* cq) {
  return *reinterpret_cast<NullCq*>(cq);
}
inline NullQp& null_qp(ibv_qp* qp) {
  return *reinterpret_cast<NullQp*>(qp);
}
inline NullQp& null_qp(ibv_qp_ex* qp) {
  return *reinterpret_cast<NullQp*>(qp);
}

// Also for tests whose QPs have peers: these put their own post_send() into the context.
void complete(NullCq& cq, const NullQp& qp, std::uint64_t wr_id, ibv_wc_opcode opcode,
              ibv_wc_status status = IBV_WC_SUCCESS, std::uint32_t immediate = 0);
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad);
int poll_cq(ibv_cq* cq, int max, ibv_wc* wcs);

}  // namespace null_verbs

/// The null device's counterpart of Endpoint.
class NullEndpoint {
 public:
  NullEndpoint(const TestCase& test_case, Role role, const NullFaults& faults = {});
  NullEndpoint(NullEndpoint&&) = delete;  // QPs and WRs point into it

  const Layout& layout() const { return layout_; }
  const EndpointView& view() const { return view_; }
  std::uint64_t buffer_bytes() const { return buffer_.size_bytes(); }

 private:
  Layout layout_;
  ibv_context context_{};
  std::unique_ptr<NullCq[]> send_cqs_, recv_cqs_;
  std::unique_ptr<NullQp[]> qps_;
  Buffer buffer_;
  EndpointView view_;
};

}  // namespace rdmameter
