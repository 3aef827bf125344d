// SPDX-License-Identifier: Apache-2.0
// Binding memory windows of both types, and invalidating one of type 2: requests of a send queue,
// so that a sample ends with the completion. The QP is connected to itself.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <vector>

#include "core/base/error.h"
#include "core/control/control_call.h"
#include "core/verbs/capability.h"
#include "core/verbs/check.h"
#include "core/verbs/memory/memory.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

constexpr std::byte kWritten{0xa5};
constexpr int kWindowAccess = IBV_ACCESS_REMOTE_WRITE;
constexpr int kMemoryAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
constexpr std::chrono::seconds kPatience{5};
constexpr std::uint32_t kPollsPerLook = 1024;  ///< empty ones, between two looks at the time

class WindowCall final : public ControlCall {
 public:
  WindowCall(OpenDevice& device, const TestCase& test_case)
      : verb_(test_case.verb),
        size_bytes_(test_case.size_bytes),
        where_(device.port.where()),
        memory_(*device.context, 0, 2 * size_bytes_, device.numa_node, {}, where_, device.memory),
        pd_(make_pd(device)),
        mr_(memory_.register_part(*pd_, 0, 2 * size_bytes_, kMemoryAccess)),
        cq_(make_cq(device)) {
    require_connectable(device);
    connect(path_to_itself(device));
    write_through_window();
  }

  void hold() override {
    prepare();
    if (verb_ != Verb::invalidate_mw) require(call());
    held_.push_back(std::move(window_));
  }

  void prepare() override {
    const bool first = verb_ == Verb::bind_mw_1;
    window_.reset(check_pointer(
        [&] { return ibv_alloc_mw(pd_.get(), first ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2); },
        "ibv_alloc_mw", where_));
    if (verb_ == Verb::invalidate_mw) require(bind_2());
  }

  int call() noexcept override {
    if (verb_ == Verb::invalidate_mw) return invalidate();
    return verb_ == Verb::bind_mw_1 ? bind_1() : bind_2();
  }

  [[noreturn]] void fail(int error) const override { throw_failure(verb(), object(), error); }

  void undo() noexcept override { window_.reset(); }

 private:
  std::string_view verb() const noexcept {
    if (verb_ == Verb::invalidate_mw) return "ibv_post_send(LOCAL_INV)";
    return verb_ == Verb::bind_mw_1 ? "ibv_bind_mw" : "ibv_post_send(BIND_MW)";
  }

  std::string object() const {
    const std::string what = fmt::format("window of {} bytes on {}", size_bytes_, where_);
    return status_ == IBV_WC_SUCCESS ? what : wc_failure_text(status_, what);
  }

  void connect(const QpPath& path) {
    ibv_qp_init_attr attributes = plain_qp(*cq_, Transport::rc, 2, 1);
    qp_.reset(check_pointer([&] { return ibv_create_qp(pd_.get(), &attributes); }, "ibv_create_qp",
                            where_));
    to_init(*qp_, Transport::rc, path.port_num, 0, kMemoryAccess & ~IBV_ACCESS_MW_BIND, kQkey,
            where_);
    to_rts(*qp_, Transport::rc, path, qp_->qp_num, 0, 0, where_);
  }

  std::uint64_t target() const { return memory_.address() + size_bytes_; }

  /// Once, before anything is timed: what is bound is usable, and data arrives through it.
  void write_through_window() {
    memory_.edit(0, size_bytes_, [](auto bytes) { std::ranges::fill(bytes, kWritten); });
    prepare();
    if (verb_ != Verb::invalidate_mw) require(call());
    ibv_sge piece{.addr = memory_.address(),
                  .length = static_cast<std::uint32_t>(size_bytes_),
                  .lkey = mr_->lkey};
    ibv_send_wr write{};
    write.opcode = IBV_WR_RDMA_WRITE;
    write.sg_list = &piece;
    write.num_sge = 1;
    write.wr.rdma = {.remote_addr = target(), .rkey = window_->rkey};
    require(post(write));
    memory_.inspect(size_bytes_, size_bytes_, [&](auto bytes) {
      if (std::ranges::any_of(bytes, [](std::byte byte) { return byte != kWritten; }))
        throw MeasurementError("an RDMA WRITE through a {} did not arrive whole", object());
    });
    if (verb_ == Verb::invalidate_mw) require(invalidate());
    window_.reset();
  }

  void require(int error) const { check_errno_value(error, verb(), object()); }

  ibv_mw_bind_info range() const noexcept {
    return {
        .mr = mr_.get(), .addr = target(), .length = size_bytes_, .mw_access_flags = kWindowAccess};
  }

  int bind_1() noexcept {
    ibv_mw_bind bind{.wr_id = 0, .send_flags = IBV_SEND_SIGNALED, .bind_info = range()};
    const int error = ibv_bind_mw(qp_.get(), window_.get(), &bind);
    return error != 0 ? error : await();
  }

  int bind_2() noexcept {
    ibv_send_wr bind{};
    bind.opcode = IBV_WR_BIND_MW;
    bind.bind_mw = {.mw = window_.get(), .rkey = ibv_inc_rkey(window_->rkey), .bind_info = range()};
    // irdma's provider gives the window its key itself (rdma-core, irdma_upost_send()), others not.
    const std::uint32_t key = bind.bind_mw.rkey;
    const int error = post(bind);
    if (error == 0) window_->rkey = key;
    return error;
  }

  int invalidate() noexcept {
    ibv_send_wr invalidate{};
    invalidate.opcode = IBV_WR_LOCAL_INV;
    invalidate.invalidate_rkey = window_->rkey;
    return post(invalidate);
  }

  int post(ibv_send_wr& request) noexcept {
    request.send_flags = IBV_SEND_SIGNALED;
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(qp_.get(), &request, &bad);
    return error != 0 ? error : await();
  }

  /// @return 0, or an errno value, `status_` saying more
  int await() noexcept {
    std::chrono::steady_clock::time_point deadline{};  // set at the first look
    ibv_wc wc;
    int polled = 0;
    for (std::uint32_t empties = 0; (polled = ibv_poll_cq(cq_.get(), 1, &wc)) == 0;) {
      if (++empties % kPollsPerLook != 0) continue;
      const auto now = std::chrono::steady_clock::now();
      if (deadline == decltype(deadline){}) deadline = now + kPatience;
      if (now > deadline) return ETIMEDOUT;
    }
    if (polled < 0) return EIO;
    status_ = wc.status;
    return status_ == IBV_WC_SUCCESS ? 0 : EIO;
  }

  const Verb verb_;
  const std::uint64_t size_bytes_;
  const std::string where_;
  MessageMemory memory_;
  const Pd pd_;
  const Mr mr_;
  const Cq cq_;
  Qp qp_;  ///< goes after the windows of type 2 bound to it: rxe waits in vain for those to go
  std::vector<Mw> held_;
  Mw window_;  ///< the one of the call
  ibv_wc_status status_ = IBV_WC_SUCCESS;
};

}  // namespace

std::unique_ptr<ControlCall> make_window_call(OpenDevice& device, const TestCase& test_case) {
  const std::string where = device.port.where();
  const bool first = test_case.verb == Verb::bind_mw_1;
  require_capability(device.limits, first ? "memory_window_1" : "memory_window_2b", where);
  require_objects(test_case, "memory windows", device.limits.max_mw, where);
  if (const std::uint32_t most = device.port.max_message_bytes;
      most != 0 && test_case.size_bytes > most)
    throw Unsupported("a write of {} bytes through a window: {} takes at most {}",
                      test_case.size_bytes, where, most);
  return std::make_unique<WindowCall>(device, test_case);
}

}  // namespace rdmameter
