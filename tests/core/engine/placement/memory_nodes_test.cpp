// SPDX-License-Identifier: Apache-2.0
// On which NUMA node the memory of an end lies, on a machine of two: tests/device/numa_test.py
// makes one.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/base/kernel_files.h"
#include "core/engine/null/null_device.h"
#include "core/engine/placement/placement.h"
#include "core/engine/work.h"
#include "core/instrument/histogram.h"

namespace rdmameter {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kSharedPages =
    8;  // at the edges of four arrays, where something else lives, too
constexpr std::size_t kPagesOfOthers =
    2;  // where something else lives, too: malloc_trim() leaves them

/// The first CPU of a node; nullopt: there is none.
std::optional<unsigned> cpu_of(int node) {
  const auto cpus = cpu_list(
      read_line(fmt::format("/sys/devices/system/node/node{}/cpulist", node)).value_or(""));
  return cpus.empty() ? std::nullopt : std::optional(cpus.front());
}

/// How many of the pages, of addresses, are not of the node.
std::size_t pages_elsewhere(const std::set<std::uintptr_t>& addresses, int node) {
  std::vector<void*> pages;
  for (const std::uintptr_t each : addresses) pages.push_back(reinterpret_cast<void*>(each));
  std::vector<int> nodes(pages.size(), -1);  // negative: an errno value
  EXPECT_EQ(syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0), 0);
  return nodes.size() - static_cast<std::size_t>(std::ranges::count(nodes, node));
}

/// What the loop of an initiator touches.
struct End {
  explicit End(const TestCase& test_case)
      : endpoint(test_case, Role::initiator),
        work(test_case, Role::initiator, endpoint.layout(), endpoint.view()) {}

  /// In pages: of the samples, the WRs, their lists and SGEs, and the messages.
  std::set<std::uintptr_t> touched() {
    std::set<std::uintptr_t> pages;
    const auto add = [&](std::uintptr_t address) { pages.insert(address / kPage * kPage); };
    const auto counts = reinterpret_cast<std::uintptr_t>(samples.get());
    for (std::size_t i = 0; i < sizeof(Histogram); i += kPage) add(counts + i);
    each_list([&](const SendList& list) {
      add(reinterpret_cast<std::uintptr_t>(&list));
      add(reinterpret_cast<std::uintptr_t>(list.head));
      add(reinterpret_cast<std::uintptr_t>(list.head->sg_list));
      add(list.head->sg_list->addr);
    });
    return pages;
  }

  template <class Look>
  void each_list(Look look) {
    const SendList* const first = work.loop_state().lanes->send;
    const SendList* list = first;
    do look(*list);
    while ((list = list->next) != first);
  }

  std::unique_ptr<Histogram> samples = std::make_unique<Histogram>();
  NullEndpoint endpoint;
  Work work;
};

TestCase write_case() {
  TestCase test_case = default_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.size_bytes = 4096;
  test_case.qps = 1;
  test_case.queues = {.depth = 4096, .rx_depth = 128, .post_list = 1, .signal_every = 32};
  return test_case;
}

/// Leaves free memory behind, of many sizes and in many places, as reading options and measuring
/// the instrument does.
void use_memory_on(unsigned cpu) {
  const Pinned pinned{cpu, "--core"};
  std::vector<std::unique_ptr<char[]>> blocks, kept;
  for (std::size_t i = 0; i < 400; ++i)
    (i % 20 == 0 ? kept : blocks).push_back(std::make_unique<char[]>(64 << i % 13));
  static const auto forever = std::move(kept);
}

TEST(MemoryOfAnEnd, IsOfTheNodeOfItsCpuWhereverItsProcessRanBefore) {
  const std::optional<unsigned> cpus[] = {cpu_of(0), cpu_of(1)};
  if (!cpus[0] || !cpus[1]) GTEST_SKIP() << "it needs two NUMA nodes with CPUs";
  for (const int node : {1, 0, 1}) {
    use_memory_on(*cpus[1 - node]);
    Placement placement;
    placement.cpus = {*cpus[node]};
    const Pinned pinned = pinned_to_make(placement, "--core");
    const auto end = std::make_unique<End>(write_case());
    const auto pages = end->touched();
    EXPECT_GE(pages.size(), 350U);
    EXPECT_LE(pages_elsewhere(pages, node), kSharedPages);
  }
}

}  // namespace
}  // namespace rdmameter
