// SPDX-License-Identifier: Apache-2.0
#include "topologies/axes/rank_axes.h"

#include <array>
#include <vector>

#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

/// A graph of datagrams has no other transport, so that one is no axis of it.
void set_graph(TestCase& c, std::string text) {
  c.graph = std::move(text);
  const auto graph = find_shape(c.graph);
  if (graph && graph->shape->datagrams) c.transport = Transport::ud;
}

bool has_traffic_of(const TestCase& c, TrafficMode one, TrafficMode other) {
  const auto traffic = find_traffic(c.traffic);
  return traffic && (traffic->entry->traffic_mode == one || traffic->entry->traffic_mode == other);
}

constexpr auto among_ranks = [](const TestCase&) { return true; };
/// In an order, or all at once: where a rank has one partner there is nothing to order.
constexpr auto is_scheduled = [](const TestCase& c) {
  return has_traffic_of(c, TrafficMode::exchange, TrafficMode::exchange);
};
/// The message of a barrier has the size that it has.
bool has_size_among_ranks(const TestCase& c) {
  const auto traffic = find_traffic(c.traffic);
  const Collective* const collective = traffic ? traffic->entry->collective : nullptr;
  return collective == nullptr || collective->kind != CollectiveKind::barrier;
}
bool can_be_inflated(const TestCase& c) {
  const auto graph = find_shape(c.graph);
  return graph && graph->shape->inflatable;
}
constexpr auto is_inflated = [](const TestCase& c) { return can_be_inflated(c) && c.inflate != 0; };
constexpr auto has_edges_of_qps = [](const TestCase& c) {
  return c.connects_ranks() && !is_inflated(c);
};
/// Messages as fast as there is room for them. No rank answers, so none need know of them.
constexpr auto streams_to_ranks = [](const TestCase& c) {
  return c.connects_ranks() && has_traffic_of(c, TrafficMode::stream, TrafficMode::drawn);
};
bool measures_pairs(const TestCase& c) {
  return in_rounds(reach_of(c.traffic));
}
/// Its graph, its traffic or the order of its pairs, by the seed.
bool is_drawn(const TestCase& c) {
  const auto graph = find_shape(c.graph);
  return (graph && graph->shape->drawn) || measures_pairs(c) ||
         has_traffic_of(c, TrafficMode::drawn, TrafficMode::drawn);
}

using enum AxisKind;

constexpr std::span<const Word> kNoWords;
constexpr std::array kInflateWords{Word{"off", 0}};
constexpr std::array kActiveWords{Word{"max", kDeviceMax}};
constexpr std::array kRankOpcodes{Word{"send", 0}, Word{"write", 1}, Word{"read", 2}};
static_assert(kRankOpcodes[2].value == static_cast<std::uint64_t>(RankOpcode::read));

const std::array kRankAxes{
    Axis{"graph", "graph", TextField{text_field<&TestCase::graph>.get, set_graph}, shape, kNoWords,
         "mesh", "which ranks have QPs between them", among_ranks},
    Axis{"traffic", "traffic", text_field<&TestCase::traffic>, shape, kNoWords, "pairs",
         "which rank sends to which", among_ranks},
    Axis{
        "pairs", "pairs", text_field<&TestCase::pairs>, shape, kNoWords, "all",
        "which pairs of ranks --traffic pairs and pairs-bw measure: all, or sampled:K with K drawn "
        "partners of each rank",
        measures_pairs},
    Axis{"schedule", "schedule", text_field<&TestCase::schedule>, shape, kNoWords, "simultaneous",
         "in which order a rank sends to the others", is_scheduled},
    Axis{"ranks", "ranks", number_field<&TestCase::ranks>, count, kNoWords, "2",
         "processes that take part", among_ranks, 1, kMaxTopologyRanks},
    Axis{"inflate", "inflate", number_field<&TestCase::inflate>, count, kInflateWords, "off",
         "give each rank of a mesh the QPs that it would have in a mesh of so many ranks",
         can_be_inflated, 2, 65536},
    Axis{"active", "active", number_field<&TestCase::active>, count, kActiveWords, "max",
         "QPs of an inflated rank that carry messages, in turn; the others are connected and idle",
         is_inflated, 1, 65536},
    Axis{"qps-per-edge", "qps_per_edge", number_field<&TestCase::qps_per_edge>, count, kNoWords,
         "1", "QPs of each edge; messages take them in turn", has_edges_of_qps, 1, 1024},
    Axis{"opcode", "opcode", number_field<&TestCase::rank_opcode>, choice, kRankOpcodes, "send",
         "what moves a stream's messages: sends, or RDMA WRITEs or READs between neighbours",
         streams_to_ranks},
    Axis{"seed", "seed", number_field<&TestCase::seed>, count, kNoWords, "1",
         "seed of random graphs and traffics, and of the order of pairs", is_drawn, 0,
         kDeviceMax - 1},
};

}  // namespace

std::span<const Axis> topology_axes() {
  static const std::vector<Axis> all = [] {
    std::vector<Axis> list(kRankAxes.begin(), kRankAxes.end());
    for (const Axis& axis : axes()) {
      list.push_back(axis);
      if (axis.option == "size") list.back().applies = has_size_among_ranks;
    }
    return list;
  }();
  return all;
}

const TestCase& default_topology_case() {
  static const TestCase made = [] {  // once, for the command line asks for each axis
    TestCase test_case = default_case(Opcode::send, Pattern::ping_pong);
    test_case.pattern = Pattern::topology;
    for (const Axis& axis : kRankAxes) set_axis(test_case, axis, axis.latency_default);
    test_case.queues.depth = 16;
    test_case.iterations = 1000;  // of each pair of ranks
    test_case.warmup = 10;
    return test_case;
  }();
  return made;
}

}  // namespace rdmameter
