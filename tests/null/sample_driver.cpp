// SPDX-License-Identifier: Apache-2.0
// Runs a ping-pong of sends on the null device, for counting the instructions of its samples alone:
//   sample_driver {rc,ud,imm_ud} ITERATIONS
//   sample_driver {answer_rc,answer_ud,answer_imm_ud} ITERATIONS
// Under callgrind, which then collects only what is between the two readings of the clock that make
// a sample; or at the responder, whose part of the sample it is, what is between the poll that
// finds a ping and the post of its pong. A program of its own: the linker would take functions of
// this file for those of the measured path.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/engine/loop/ping_pong.h"
#include "tests/null/null_case.h"

#if defined(__x86_64__) && __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>

namespace rdmameter {
namespace {

/// Turns callgrind's collection off and on, which is on when the program starts.
[[gnu::always_inline]] inline std::uint64_t toggle() noexcept {
  static constexpr std::uint64_t kRequest[6] = {VG_USERREQ__TOGGLE_COLLECT};
  std::uint64_t ticks = reinterpret_cast<std::uint64_t>(kRequest);
  // A request to valgrind (valgrind/valgrind.h), which leaves its answer in rdx: 0.
  asm volatile(
      "xorl %%edx, %%edx\n\t"
      "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx\n\t"
      "movq %%rdx, %%rax"
      : "+a"(ticks)
      :
      : "rdx", "cc", "memory");
  return ticks;
}

/// In the place of the CPU's counter, with the registers that reading it takes. A ping-pong reads
/// its clock at its start, twice for each sample and at its end.
struct ToggleClock {
  std::uint64_t now() const noexcept { return toggle(); }
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept { return ticks; }
  std::uint64_t to_ticks(std::uint64_t ns) const noexcept { return ns; }
};

/// Beside calls of verbs, which use the same registers as this one: what stands before it in the
/// code is not counted with what follows.
[[gnu::noinline]] void toggle_apart() noexcept {
  toggle();
}
template <class By>
[[gnu::noinline]] void give_number(ibv_wc& wc, std::uint8_t number) noexcept {
  if constexpr (By::kImmediate)
    wc.imm_data = number;
  else if constexpr (By::kNumbered)
    const_cast<std::uint8_t&>(*receive_of(wc).number) = number;
}

/// A responder's completions are those of pings and of its pongs, in turn. Each ping has the number
/// behind that of the one before it.
template <class By>
struct ToggleCq : ClassicCq {
  static inline bool awaits_ping = true;
  static inline std::uint8_t number = 0;
  template <bool kImmediate = false>
  [[gnu::always_inline]] static int poll(ibv_cq* cq, int max, ibv_wc* wcs) noexcept {
    const int polled = ClassicCq::poll<kImmediate>(cq, max, wcs);
    if (polled > 0) {
      awaits_ping = !awaits_ping;
      if (!awaits_ping) {
        give_number<By>(*wcs, ++number);
        toggle_apart();
      }
    }
    return polled;
  }
};
struct TogglePost {
  [[gnu::always_inline]] static int post(const LoopState& loop_state, const Lane& lane,
                                         ibv_send_wr* head) noexcept {
    toggle_apart();
    return ClassicPost::post(loop_state, lane, head);
  }
};

/// Each pong is the next ping.
template <class By, bool kLossy>
int count_answers(Opcode opcode, Transport transport, std::uint64_t answers) {
  NullSide side{
      null_case(opcode, Pattern::ping_pong, transport), Role::responder, {.silent_after = answers}};
  NullQp& qp = *reinterpret_cast<NullQp*>(side.endpoint.view().qps[0]);
  null_verbs::complete(*qp.recv_cq, qp, qp.receives[qp.receives_out++], IBV_WC_RECV,
                       IBV_WC_SUCCESS);
  side.stop.request(StopReason::finish);
  using P = Policy<ToggleClock, SpinWait, TogglePost, ToggleCq<By>>;
  toggle();
  const LoopResult end = ping_pong_responder<By, kLossy, P>(side.work.loop_state(), side.plan, {},
                                                            side.stop, side.tally);
  std::printf("%llu\n", static_cast<unsigned long long>(side.tally.operations));
  return end.why == LoopResult::Why::stopped ? 0 : 1;
}

template <class By, bool kLossy>
int count_samples(Opcode opcode, Transport transport, std::uint64_t samples) {
  TestCase test_case = null_case(opcode, Pattern::ping_pong, transport);
  test_case.iterations = samples;
  NullSide side{test_case};
  using P = Policy<ToggleClock, SpinWait, ClassicPost, ClassicCq>;
  const LoopResult end = ping_pong_initiator<By, kLossy, P>(side.work.loop_state(), side.plan, {},
                                                            side.stop, side.tally);
  std::printf("%llu\n", static_cast<unsigned long long>(side.tally.operations));
  return end.why == LoopResult::Why::done ? 0 : 1;
}

int count_samples(std::string_view of, std::uint64_t samples) {
  if (of == "rc") return count_samples<ByReceive, false>(Opcode::send, Transport::rc, samples);
  if (of == "ud")
    return count_samples<ByNumberedReceive, true>(Opcode::send, Transport::ud, samples);
  if (of == "imm_ud")
    return count_samples<ByImmediate, true>(Opcode::send_imm, Transport::ud, samples);
  if (of == "answer_rc")
    return count_answers<ByReceive, false>(Opcode::send, Transport::rc, samples);
  if (of == "answer_ud")
    return count_answers<ByNumberedReceive, true>(Opcode::send, Transport::ud, samples);
  if (of == "answer_imm_ud")
    return count_answers<ByImmediate, true>(Opcode::send_imm, Transport::ud, samples);
  return 2;
}

}  // namespace
}  // namespace rdmameter

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return rdmameter::count_samples(argv[1], std::strtoull(argv[2], nullptr, 10));
}

#else
int main() {
  return 77;  // cannot be counted here
}
#endif
