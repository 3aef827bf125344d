// SPDX-License-Identifier: Apache-2.0
#include "topologies/stragglers/elimination.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>

#include "core/base/lists.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMostPartners = 5;  ///< of each of the two ranks, beside the other one
constexpr std::size_t kMostOthers = 8;    ///< pairs without the two
constexpr std::size_t kMostTurns = 6;     ///< over different edges
constexpr std::size_t kTurnTimes = 6;     ///< of all turns, in each sense

/// So many of them, drawn.
template <class Value>
std::vector<Value> some_of(std::vector<Value> values, std::size_t most, std::mt19937_64& engine) {
  for (std::size_t at = 0; at < values.size() && at < most; ++at)
    std::swap(values[at], values[at + engine() % (values.size() - at)]);
  if (values.size() > most) values.resize(most);
  return values;
}

/// That which most of its edges are of; of kinds with too few edges none.
std::optional<PairKind> kind_to_judge(Rank rank, const Graph& graph, const RankPlaces& places) {
  ByKind<std::size_t> all{}, own{};
  for (const auto& [a, b] : graph.edges()) {
    const PairKind kind = kind_of(places[a], places[b]);
    ++all[kind];
    own[kind] += a == rank || b == rank ? 1 : 0;
  }
  std::optional<PairKind> most;
  for (const auto& [kind, name] : kPairKindNames)
    if (all[kind] >= kFewestPairs && own[kind] > (most ? own[*most] : 0)) most = kind;
  return most;
}

/// With these edges alone.
Graph of_kind(PairKind kind, const Graph& graph, const RankPlaces& places) {
  Graph own(graph.ranks());
  for (const auto& [a, b] : graph.edges())
    if (kind_of(places[a], places[b]) == kind) own.add(a, b);
  return own;
}

/// The neighbour with which the rank's messages take longest.
Rank slowest_neighbour(Rank rank, const Matrix& matrix_ns, const Graph& graph) {
  const auto time = [&](Rank other) {
    return matrix_ns[rank][other].value_or(0) + matrix_ns[other][rank].value_or(0);
  };
  return *std::ranges::max_element(graph.neighbours[rank], {}, time);
}

/// From one rank hop by hop to another, past neither the edge between the last and `avoided` nor
/// that rank; empty: there is no other way.
std::vector<Rank> detour(const Graph& graph, Rank from, Rank to, Rank avoided) {
  std::vector<std::optional<Rank>> before(graph.ranks());
  std::vector<Rank> queue{from};
  before[from] = from;
  for (std::size_t i = 0; i < queue.size() && !before[to]; ++i)
    for (const Rank next : graph.neighbours[queue[i]]) {
      if (before[next] || next == avoided) continue;
      before[next] = queue[i];
      queue.push_back(next);
    }
  if (!before[to]) return {};
  std::vector<Rank> way{to};
  while (way.back() != from) way.push_back(*before[way.back()]);
  std::ranges::reverse(way);
  return way;
}

/// Turns that use the edge from a to b once, and otherwise other edges: a, b, over a neighbour of b
/// and on to a.
std::vector<RoundTripStops> turns_over(const Graph& graph, Rank a, Rank b, std::size_t most,
                                       std::mt19937_64& engine) {
  std::vector<Rank> thirds = graph.neighbours[b];
  std::erase(thirds, a);
  std::vector<RoundTripStops> turns;
  for (const Rank third : some_of(std::move(thirds), most, engine)) {
    const std::vector<Rank> way = detour(graph, third, a, b);
    if (way.empty()) continue;
    RoundTripStops& turn = turns.emplace_back(RoundTripStops{a, b});
    turn.insert(turn.end(), way.begin(), way.end());
  }
  return turns;
}

/// What the round trips were: by pair (the lower rank first), and by turn from a to b.
struct MeasuredTrips {
  std::map<std::pair<Rank, Rank>, std::vector<double>> pairs;
  std::map<RoundTripStops, std::vector<double>> turns, turns_back;  ///< by turns
};

MeasuredTrips sort_out(std::span<const RoundTripStops> trips, std::span<const double> times_ns,
                       Rank b) {
  MeasuredTrips measured;
  for (std::size_t i = 0; i < trips.size() && i < times_ns.size(); ++i) {
    if (!(times_ns[i] > 0)) continue;
    const RoundTripStops& stops = trips[i];
    if (stops.size() == 3)
      measured.pairs[std::minmax(stops[0], stops[1])].push_back(times_ns[i]);
    else if (stops[1] == b)
      measured.turns[stops].push_back(times_ns[i]);
    else
      measured.turns_back[{stops.rbegin(), stops.rend()}].push_back(times_ns[i]);
  }
  return measured;
}

}  // namespace

std::vector<RoundTripStops> elimination_trips(const Straggler& suspect, const Matrix& matrix_ns,
                                              const Graph& graph, const RankPlaces& places,
                                              std::uint64_t seed) {
  if (!suspect.rank) return {};
  std::mt19937_64 engine(seed);
  const Rank a = *suspect.rank;
  const auto kind = suspect.to ? std::optional(kind_of(places[a], places[*suspect.to]))
                               : kind_to_judge(a, graph, places);
  if (!kind) return {};
  const Graph alike = of_kind(*kind, graph, places);
  const Rank b = suspect.to ? *suspect.to : slowest_neighbour(a, matrix_ns, alike);
  std::vector<RoundTripStops> trips;
  const auto add_pair = [&trips](Rank from, Rank to) {
    trips.push_back({from, to, from});
    trips.push_back({to, from, to});
  };
  std::vector<std::pair<Rank, Rank>> others;
  for (const auto& [from, to] : alike.edges())
    if (from != a && from != b && to != a && to != b) others.emplace_back(from, to);
  for (const auto& [rank, peer] : {std::pair(a, b), std::pair(b, a)}) {
    std::vector<Rank> partners = alike.neighbours[rank];
    std::erase(partners, peer);
    for (const Rank partner : some_of(std::move(partners), kMostPartners, engine))
      add_pair(rank, partner);
  }
  for (const auto& [from, to] : some_of(std::move(others), kMostOthers, engine)) add_pair(from, to);
  const std::vector<RoundTripStops> turns = turns_over(graph, a, b, kMostTurns, engine);
  for (const RoundTripStops& turn : turns)
    for (std::size_t time = 0; time < kTurnTimes / turns.size(); ++time) {
      trips.push_back(turn);
      trips.emplace_back(turn.rbegin(), turn.rend());
    }
  trips = some_of(trips, trips.size(), engine);
  // First, since judge_elimination() takes the suspect from it; and again at the end.
  trips.insert(trips.begin(), {a, b, a});
  trips.insert(trips.begin() + 1, {b, a, b});
  add_pair(a, b);
  return trips;
}

Straggler judge_elimination(std::span<const RoundTripStops> trips,
                            std::span<const double> times_ns) {
  using Verdict = Straggler::Verdict;
  const Straggler none{.measured_again = trips.size()};
  if (trips.empty()) return none;
  const Rank a = trips.front()[0], b = trips.front()[1];
  const std::pair<Rank, Rank> suspect = std::minmax(a, b);
  const MeasuredTrips measured = sort_out(trips, times_ns, b);
  std::map<std::pair<Rank, Rank>, double> times;
  std::vector<double> others;
  for (const auto& [pair, each] : measured.pairs) {
    times[pair] = median(each);
    if (pair != suspect) others.push_back(times[pair]);
  }
  const auto own = times.find(suspect);
  if (own == times.end() || others.empty()) return none;
  const double usual = usual_of(others);
  if (own->second < kSlowFactor * usual) return none;
  const double excess = own->second - usual;
  const auto found = [&](Verdict verdict, Rank rank, std::optional<Rank> to, double factor) {
    return Straggler{.verdict = verdict,
                     .rank = rank,
                     .to = to,
                     .factor = factor,
                     .measured_again = trips.size()};
  };
  // A node is slow with nearly all others, and with each by much of what the suspect is.
  std::optional<Rank> node;
  double slowest = 0;
  for (const Rank rank : {a, b}) {
    std::vector<double> with_others;
    std::size_t slow = 0;
    for (const auto& [pair, time] : times) {
      if ((pair.first != rank && pair.second != rank) || pair == own->first) continue;
      with_others.push_back(time);
      slow += time >= usual + excess / 2 ? 1 : 0;
    }
    if (slow == 0 || 3 * slow < 2 * with_others.size()) continue;
    const double time = median(std::move(with_others));
    if (time <= slowest) continue;
    node = rank;
    slowest = time;
  }
  if (node) return found(Verdict::node, *node, {}, slowest / usual);
  std::vector<double> differences;
  for (const auto& [turn, there] : measured.turns)
    if (const auto back = measured.turns_back.find(turn); back != measured.turns_back.end())
      differences.push_back(median(there) - median(back->second));
  const double difference = differences.empty() ? 0 : median(std::move(differences));
  if (std::abs(difference) <= excess / 2)
    return found(Verdict::path, suspect.first, suspect.second, own->second / usual);
  const auto [from, to] = difference > 0 ? std::pair(a, b) : std::pair(b, a);
  return found(Verdict::direction, from, to, (usual / 2 + excess) / (usual / 2));
}

}  // namespace rdmameter
