// SPDX-License-Identifier: Apache-2.0
// Verdicts on imaginary clusters, in virtual time: what is slow there is known.
#include "topologies/stragglers/elimination.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

using Verdict = Straggler::Verdict;

constexpr int kSeeds = 100;

/// How often as long as the others a message takes from one neighbour to another.
using Factor = std::function<double(Rank from, Rank to)>;

class Cluster {
 public:
  Cluster(const char* shape, const RankPlaces& places, Factor factor, double noise,
          std::uint64_t seed)
      : graph_(read_shape(shape, 1).make(static_cast<Rank>(places.size()))),
        places_(places),
        factor_(std::move(factor)),
        noise_(noise),
        engine_(seed) {
    for (Rank from = 0; from < ranks(); ++from) next_.push_back(tree_from(graph_, from).first);
  }

  const Graph& graph() const { return graph_; }
  Rank ranks() const { return graph_.ranks(); }

  /// A round trip past these stops [ns].
  double time_ns(const RoundTripStops& stops) {
    double sum = 0;
    for (std::size_t i = 1; i < stops.size(); ++i)
      for (Rank at = stops[i - 1]; at != stops[i]; at = next_[at][stops[i]])
        sum += usual_ns(at, next_[at][stops[i]]) * factor_(at, next_[at][stops[i]]);
    return sum * (1 + noise_ * std::normal_distribution<double>()(engine_));
  }

  Matrix matrix() {
    Matrix matrix(ranks(), std::vector<std::optional<double>>(ranks()));
    for (Rank from = 0; from < ranks(); ++from)
      for (Rank to = 0; to < ranks(); ++to)
        if (from != to) matrix[from][to] = time_ns({from, to, from}) / 2;
    return matrix;
  }

  /// As a run comes to it. @param disturbed  the matrix, and nothing else
  Straggler verdict(std::uint64_t seed, std::function<void(Matrix&)> disturbed = {}) {
    Matrix matrix_ns = matrix();
    if (disturbed) disturbed(matrix_ns);
    const Straggler suspect = find_straggler(matrix_ns, graph_.edges(), places_);
    const auto trips = elimination_trips(suspect, matrix_ns, graph_, places_, seed);
    std::vector<double> times_ns;
    for (const RoundTripStops& stops : trips) times_ns.push_back(time_ns(stops));
    return judge_elimination(trips, times_ns);
  }

  /// As a report comes to it, which has the matrix alone.
  Straggler suspect() { return find_straggler(matrix(), graph_.edges(), places_); }

 private:
  double usual_ns(Rank from, Rank to) const {
    switch (kind_of(places_[from], places_[to])) {
      case PairKind::other_host:
        return 10'000;
      case PairKind::other_node:
        return 3'000;
      case PairKind::same_host:
      case PairKind::same_node:
        break;
    }
    return 2'000;
  }

  const Graph graph_;
  const RankPlaces places_;
  const Factor factor_;
  const double noise_;
  std::mt19937_64 engine_;
  std::vector<std::vector<Rank>> next_;
};

/// So many ranks on each host, one host after the other.
RankPlaces on_hosts(const std::vector<Rank>& ranks) {
  RankPlaces places;
  for (std::uint32_t host = 0; host < ranks.size(); ++host)
    places.insert(places.end(), ranks[host], {.host = host, .numa_node = {}});
  return places;
}

/// Each on a host of its own.
RankPlaces alone(Rank ranks) {
  return on_hosts(std::vector<Rank>(ranks, 1));
}

/// So many ranks on each NUMA node, two of which make a host.
RankPlaces on_nodes(const std::vector<Rank>& ranks) {
  RankPlaces places = on_hosts(ranks);
  for (RankPlace& place : places) {
    place.numa_node = place.host % 2;
    place.host /= 2;
  }
  return places;
}

double usual(Rank, Rank) {
  return 1;
}
Factor slow_node(Rank node, double factor) {
  return [=](Rank from, Rank to) { return from == node || to == node ? factor : 1; };
}
Factor slow_path(Rank a, Rank b, double factor) {
  return [=](Rank from, Rank to) {
    return (from == a && to == b) || (from == b && to == a) ? factor : 1;
  };
}
Factor slow_direction(Rank a, Rank b, double factor) {
  return [=](Rank from, Rank to) { return from == a && to == b ? factor : 1; };
}

struct Wanted {
  Verdict verdict;
  std::optional<std::uint32_t> rank, to;
};

/// Of so many seeds, how many verdicts are the wanted one. Ranks are drawn by the seed.
int right_of(const char* shape, const RankPlaces& places, double noise,
             const std::function<std::pair<Factor, Wanted>(std::mt19937_64&)>& draw) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937_64 engine(seed);
    const auto drawn = draw(engine);
    Cluster cluster(shape, places, drawn.first, noise, seed);
    const Straggler found = cluster.verdict(seed);
    const Wanted& wanted = drawn.second;
    right += found.verdict == wanted.verdict && found.rank == wanted.rank && found.to == wanted.to;
  }
  return right;
}

/// Two ranks with an edge.
std::pair<Rank, Rank> drawn_edge(const char* shape, Rank ranks, std::mt19937_64& engine) {
  const auto edges = read_shape(shape, 1).make(ranks).edges();
  return edges[engine() % edges.size()];
}

void expect_right(const char* shape, const RankPlaces& places, double noise) {
  const auto ranks = static_cast<Rank>(places.size());
  const auto node = [&](std::mt19937_64& engine) {
    const auto rank = static_cast<Rank>(engine() % ranks);
    return std::pair(slow_node(rank, 3), Wanted{Verdict::node, rank, {}});
  };
  const auto path = [&](std::mt19937_64& engine) {
    const std::pair<Rank, Rank> edge = drawn_edge(shape, ranks, engine);
    return std::pair(slow_path(edge.first, edge.second, 2),
                     Wanted{Verdict::path, edge.first, edge.second});
  };
  const auto direction = [&](std::mt19937_64& engine) {
    std::pair<Rank, Rank> edge = drawn_edge(shape, ranks, engine);
    if (engine() % 2 == 0) std::swap(edge.first, edge.second);
    return std::pair(slow_direction(edge.first, edge.second, 2),
                     Wanted{Verdict::direction, edge.first, edge.second});
  };
  const auto clean = [](std::mt19937_64&) { return std::pair(Factor(usual), Wanted{}); };
  EXPECT_GE(right_of(shape, places, noise, node), 99) << shape << ranks;
  EXPECT_GE(right_of(shape, places, noise, path), 99) << shape << ranks;
  EXPECT_GE(right_of(shape, places, noise, direction), 99) << shape << ranks;
  EXPECT_GE(right_of(shape, places, noise, clean), 99) << shape << ranks;
}

TEST(Elimination, OfSixteenRanksWithNoiseFindsNodePathAndDirectionAndNothingInACleanCluster) {
  expect_right("mesh", alone(16), 0.05);
}

TEST(Elimination, OfAFewRanksAndOverGraphsWithRelaysFindsThemToo) {
  expect_right("mesh", alone(4), 0.02);
  expect_right("hypercube", alone(16), 0.02);
  expect_right("ring", alone(8), 0.01);
}

TEST(Elimination, OfThreeRanksFindsANode) {
  Cluster cluster("mesh", alone(3), slow_node(2, 3), 0, 1);
  const Straggler found = cluster.verdict(1);
  EXPECT_EQ(found.verdict, Verdict::node);
  EXPECT_EQ(found.rank, 2u);
  EXPECT_DOUBLE_EQ(*found.factor, 3);
}

TEST(Elimination, TellsTheFactorOfWhatIsSlow) {
  const auto factor = [](const Factor& slow) {
    return Cluster("mesh", alone(8), slow, 0, 1).verdict(1).factor.value_or(0);
  };
  EXPECT_DOUBLE_EQ(factor(slow_node(4, 3)), 3);
  EXPECT_DOUBLE_EQ(factor(slow_path(4, 1, 2)), 2);
  EXPECT_DOUBLE_EQ(factor(slow_direction(4, 1, 2)), 2);
}

TEST(Elimination, FindsNothingWhereWhatWasSlowIsNotWhenMeasuredAgain) {
  Cluster cluster("mesh", alone(8), usual, 0.02, 1);
  const Straggler pair = cluster.verdict(1, [](Matrix& matrix) {
    for (auto* cell : {&matrix[2][5], &matrix[5][2]}) **cell *= 3;
  });
  EXPECT_EQ(pair.verdict, Verdict::none);
  EXPECT_GT(pair.measured_again, 0u);
  const Straggler node = cluster.verdict(1, [](Matrix& matrix) {
    for (Rank rank = 0; rank < 8; ++rank)
      if (rank != 3) {
        *matrix[rank][3] *= 3;
        *matrix[3][rank] *= 3;
      }
  });
  EXPECT_EQ(node.verdict, Verdict::none);
  EXPECT_GT(node.measured_again, 0u);
  EXPECT_EQ(cluster.verdict(1).measured_again, 0u);
}

TEST(Elimination, NamesNobodyWhereTimesDifferByMachine) {
  const Factor two_machines = [](Rank from, Rank to) { return (from < 4) == (to < 4) ? 1 : 3; };
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    EXPECT_EQ(Cluster("mesh", alone(8), two_machines, 0.05, seed).verdict(seed).verdict,
              Verdict::none);
}

/// In none of so many clean clusters, neither by what is measured again nor by the matrix alone.
void expect_nobody(const char* shape, const RankPlaces& places) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    EXPECT_EQ(Cluster(shape, places, usual, 0.05, seed).verdict(seed).verdict, Verdict::none)
        << shape << places.size() << " " << seed;
    EXPECT_EQ(Cluster(shape, places, usual, 0.05, seed).suspect().verdict, Verdict::none)
        << shape << places.size() << " " << seed;
  }
}

TEST(Elimination, NamesNobodyWhoIsOnlyAloneOnItsHost) {
  for (const std::vector<Rank>& hosts : std::vector<std::vector<Rank>>{
           {3, 1}, {4, 1}, {2, 1}, {3, 2}, {4, 4, 1}, {2, 2}, {1, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}})
    expect_nobody("mesh", on_hosts(hosts));
  expect_nobody("ring", on_hosts({4, 4}));
  expect_nobody("star", on_hosts({3, 1}));
}

TEST(Elimination, NamesNobodyWhoIsOnlyAloneOnItsNumaNode) {
  for (const std::vector<Rank>& nodes :
       std::vector<std::vector<Rank>>{{3, 1}, {2, 1}, {3, 1, 2, 2}, {4, 4, 4, 1}})
    expect_nobody("mesh", on_nodes(nodes));
  RankPlaces unknown = on_nodes({4, 4});
  unknown[2].numa_node.reset();
  expect_nobody("mesh", unknown);
}

TEST(Elimination, AmongRanksThatShareHostsAndNumaNodesFindsNodePathAndDirection) {
  expect_right("mesh", on_hosts({4, 4}), 0.05);
  expect_right("mesh", on_nodes({4, 4, 4, 4}), 0.05);
}

TEST(Elimination, FindsARankThatIsSlowWithinItsHostAndASlowPathToOneThatIsAlone) {
  Cluster rank("mesh", on_hosts({3, 1}), slow_node(0, 3), 0, 1);
  EXPECT_EQ(rank.suspect().rank, 0u);
  const Straggler found = rank.verdict(1);
  EXPECT_EQ(found.verdict, Verdict::node);
  EXPECT_EQ(found.rank, 0u);
  Cluster path("mesh", on_hosts({3, 1}), slow_path(1, 3, 2), 0, 1);
  const Straggler between = path.verdict(1);
  EXPECT_EQ(between.verdict, Verdict::path);
  EXPECT_EQ(between.rank, 1u);
  EXPECT_EQ(between.to, 3u);
}

TEST(Elimination, NamesNobodyWhereTooFewPairsAreLikeTheSlowOnes) {
  EXPECT_EQ(Cluster("mesh", on_hosts({3, 1}), slow_node(3, 3), 0, 1).verdict(1).verdict,
            Verdict::none)
      << "all pairs between the hosts are its own";
  EXPECT_EQ(Cluster("mesh", on_hosts({2, 1}), slow_path(0, 2, 3), 0, 1).verdict(1).verdict,
            Verdict::none)
      << "there is one other such pair";
}

TEST(Elimination, JudgesARankByAKindOfWhichThereAreEnoughPairs) {
  // Rank 0 has two pairs with the other NUMA node, the only ones there are, and two with host 1.
  const Straggler found = Cluster("mesh", on_nodes({1, 2, 2}), slow_node(0, 3), 0, 1).verdict(1);
  EXPECT_EQ(found.verdict, Verdict::node);
  EXPECT_EQ(found.rank, 0u);
}

TEST(Elimination, ByTheMatrixAloneNamesThePathOfARankWithOnePairThatCanBeCompared) {
  const Straggler found = Cluster("mesh", on_nodes({1, 2, 1}), slow_node(0, 3), 0, 1).suspect();
  EXPECT_EQ(found.verdict, Verdict::path);
  EXPECT_EQ(found.rank, 0u);
  EXPECT_EQ(found.to, 3u);
}

TEST(Elimination, MeasuresPairsOfTheSuspectsKindAlone) {
  const RankPlaces places = on_hosts({4, 4});
  const Graph mesh = read_shape("mesh", 1).make(8);
  const Matrix matrix_ns = Cluster("mesh", places, slow_path(1, 6, 3), 0, 1).matrix();
  const auto trips = elimination_trips(find_straggler(matrix_ns, mesh.edges(), places), matrix_ns,
                                       mesh, places, 1);
  ASSERT_FALSE(trips.empty());
  for (const RoundTripStops& stops : trips) {
    const bool one_host = places[stops[0]].host == places[stops[1]].host;
    EXPECT_FALSE(stops.size() == 3 && one_host) << stops[0] << " " << stops[1];
  }
}

TEST(Elimination, SendsOnlyToNeighboursAndGoesRoundARingInBothSenses) {
  const Graph ring = read_shape("ring", 1).make(8);
  Cluster cluster("ring", alone(8), slow_path(2, 3, 4), 0, 1);
  const Matrix matrix_ns = cluster.matrix();
  const auto trips = elimination_trips(find_straggler(matrix_ns, ring.edges(), alone(8)), matrix_ns,
                                       ring, alone(8), 1);
  ASSERT_FALSE(trips.empty());
  std::size_t turns = 0;
  for (const RoundTripStops& stops : trips) {
    EXPECT_EQ(stops.front(), stops.back());
    for (std::size_t i = 1; i < stops.size(); ++i)
      EXPECT_TRUE(ring.has_edge(stops[i - 1], stops[i]));
    turns += stops.size() == 9 ? 1 : 0;
  }
  EXPECT_GT(turns, 0u);
}

TEST(MedianMatrix, IsOfEachCellThatAMatrixHas) {
  const std::nullopt_t none = std::nullopt;
  const Matrix first{{none, 1}, {3, none}}, second{{none, 2}, {none, none}},
      third{{none, 9}, {5, none}};
  EXPECT_EQ(median_matrix({&first, &second, &third}), (Matrix{{none, 2}, {4, none}}));
  const Matrix of_one{{none}};
  EXPECT_EQ(median_matrix({&first, &of_one}), Matrix{});
}

}  // namespace
}  // namespace rdmameter
