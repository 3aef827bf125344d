// SPDX-License-Identifier: Apache-2.0
// Runs a ping-pong of sends on the null device, for counting the instructions of its samples alone:
//   sample_driver {rc,ud,imm_ud} ITERATIONS
// Under callgrind, which then collects only what is between the two readings of the clock that make
// a sample. A program of its own: the linker would take functions of this file for those of the
// measured path.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "core/engine/loop/ping_pong.h"
#include "tests/null/null_case.h"

#if defined(__x86_64__) && __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>

namespace rdmameter {
namespace {

/// In the place of the CPU's counter, with the registers that reading it takes: turns callgrind's
/// collection off and on, which is on when the program starts. A ping-pong reads its clock at its
/// start, twice for each sample and at its end.
struct ToggleClock {
  std::uint64_t now() const noexcept {
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
  std::uint64_t to_ns(std::uint64_t ticks) const noexcept { return ticks; }
  std::uint64_t to_ticks(std::uint64_t ns) const noexcept { return ns; }
};

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
