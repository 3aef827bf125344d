// SPDX-License-Identifier: Apache-2.0
// Writes what simulated clusters would have measured: DIRECTORY/small.json, of up to 256 ranks, and
// DIRECTORY/large.json, of 16384. docs/topologies.md holds the one's prediction against the other.
#include <cstdio>

#include "reports/result_file.h"
#include "reports/topology/shape.h"
#include "tests/reports/topology/simulated_cluster.h"
#include "tests/reports/topology_samples.h"

int main(int argc, char** argv) {
  using namespace rdmameter;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write_simulation DIRECTORY\n");
    return 2;
  }
  const std::string directory = argv[1];
  const SimulatedCosts costs{.cached_qps = 32};
  ResultWriter small(directory + "/small.json", topology_context(1));
  for (const char* graph : {"mesh", "ring", "hypercube"})
    for (const std::uint64_t ranks : {4, 8, 16, 32})
      for (const std::uint64_t size : {64, 4096})
        for (std::uint64_t repetition = 0; repetition < 3; ++repetition)
          small.append(simulate_pairs(costs, graph, ranks, size, repetition, 3));
  for (const char* graph : {"mesh", "hypercube"})
    for (const std::uint64_t ranks : {4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256})
      for (const std::uint64_t size : {64, 4096})
        if (shape_figures(graph, ranks))
          small.append(simulate_alltoall(costs, graph, ranks, size, 0, 1, 350));
  small.finish();
  ResultWriter large(directory + "/large.json", topology_context(1));
  for (const std::uint64_t size : {64, 4096}) {
    for (const char* graph : {"mesh", "ring", "hypercube"})
      large.append(simulate_pairs(costs, graph, 16384, size, 0, 1));
    for (const char* graph : {"mesh", "hypercube"})
      large.append(simulate_alltoall(costs, graph, 16384, size, 0, 1, 30));
  }
  large.finish();
}
