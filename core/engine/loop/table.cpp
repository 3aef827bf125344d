// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/table.h"

#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

const Instances* instances_for(const TestCase& test_case, Role role, bool credited) {
  if (credited) return &credited_instances(test_case, role);
  const bool initiator = role == Role::initiator, per_qp = keeps_each_qp(test_case);
  if (test_case.watched()) return watched_instances(test_case, role);
  if (initiator && test_case.shares_qps()) return &sharer_instances(test_case.pattern);
  switch (test_case.pattern) {
    case Pattern::ping_pong:
      if (!initiator) return &pong_instances(test_case);
      return per_qp ? &ping_instances_per_qp(test_case) : &ping_instances(test_case);
    case Pattern::completion_latency:
      if (initiator) return &completion_instances(per_qp);
      return test_case.takes_receive() ? &receive_instances(numbers_read(test_case)) : nullptr;
    case Pattern::bandwidth:
      if (initiator)
        return test_case.peak ? &timed_bandwidth_instances(numbers_sent(test_case))
                              : &bandwidth_instances(numbers_sent(test_case), per_qp);
      return test_case.takes_receive() ? &receive_instances(numbers_read(test_case)) : nullptr;
    case Pattern::open_loop:
      if (initiator) return &open_loop_instances(test_case, per_qp);
      return test_case.answered() ? &answer_instances() : nullptr;
    case Pattern::control:
    case Pattern::topology:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

std::size_t place_of(Wait wait) {
  switch (wait) {
    case Wait::automatic:
    case Wait::spin:
      return 0;
    case Wait::yield:
      return 1;
    case Wait::event:
      return 2;
  }
  return 0;
}

bool keeps_each_qp(const TestCase& test_case) {
  return test_case.qps > 1 && !test_case.watched() && !test_case.shares_qps() &&
         !test_case.queues.timestamps && !test_case.multicast() &&
         !(test_case.pattern == Pattern::bandwidth && numbers_sent(test_case) != NumberPlace::none);
}

MeasuredLoop choose_loop(const TestCase& test_case, Role role, Wait wait, ClockChoice::Kind clock,
                         bool credited) {
  const Instances* instances = instances_for(test_case, role, credited);
  if (instances == nullptr) return nullptr;
  const bool counter = clock == ClockChoice::Kind::counter;
  const std::size_t waits = place_of(wait);
  const bool stamps = test_case.queues.timestamps;
  if (counter && waits == place_of(Wait::spin) && !stamps && !test_case.cq_per_qp())
    return instances->direct[test_case.extended_api() ? 1 : 0][test_case.extended_cq() ? 1 : 0];
  return instances->chosen[counter ? 1 : 0][waits][stamps ? 1 : 0];
}

}  // namespace rdmameter
