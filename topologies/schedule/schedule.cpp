// SPDX-License-Identifier: Apache-2.0
#include "topologies/schedule/schedule.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <random>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

/// std::shuffle() may differ between libraries, and all ranks must have the same order.
std::vector<Rank> drawn_order(Rank count, std::mt19937_64& engine) {
  std::vector<Rank> order(count);
  std::iota(order.begin(), order.end(), 0U);
  for (Rank left = count; left > 1; --left) std::swap(order[left - 1], order[engine() % left]);
  return order;
}

/// By rank and destination, the next rank. Empty: every rank has an edge to every other.
using NextRanks = std::vector<std::vector<Rank>>;

NextRanks next_ranks(const Graph& graph) {
  const Rank ranks = graph.ranks();
  const bool complete = std::ranges::all_of(
      graph.neighbours, [ranks](const auto& list) { return list.size() + 1 == ranks; });
  if (complete) return {};
  NextRanks next;
  for (Rank from = 0; from < ranks; ++from) next.push_back(tree_from(graph, from).first);
  return next;
}

/// The ranks on the way there and back.
std::vector<Rank> ranks_of(const Flow& pair, const NextRanks& next) {
  std::vector<Rank> ranks{pair.from, pair.to};
  if (next.empty()) return ranks;
  for (const auto& [from, to] : {pair, Flow{pair.to, pair.from}})
    for (Rank at = next[from][to]; at != to; at = next[at][to]) ranks.push_back(at);
  return ranks;
}

/// Adds a round's pairs to the rounds, each to the first one from `begin` on where nothing is in
/// its way.
void part_round(const PairRound& pairs, const NextRanks& next, Rank ranks,
                std::vector<PairRound>& rounds) {
  const std::size_t begin = rounds.size();
  std::vector<std::vector<bool>> used;
  for (const Flow& pair : pairs) {
    const std::vector<Rank> own = ranks_of(pair, next);
    std::size_t part = 0;
    while (part < used.size() &&
           std::ranges::any_of(own, [&](Rank rank) { return bool{used[part][rank]}; }))
      ++part;
    if (part == used.size()) {
      used.emplace_back(ranks);
      rounds.emplace_back();
    }
    for (const Rank rank : own) used[part][rank] = true;
    rounds[begin + part].push_back(pair);
  }
}

}  // namespace

std::uint64_t partners_of_pairs(std::string_view text, Rank ranks) {
  constexpr std::string_view kSampled = "sampled:";
  if (text == "all") return 0;
  const auto partners =
      text.starts_with(kSampled) ? parse_count(text.substr(kSampled.size())) : std::nullopt;
  if (!partners || *partners == 0)
    throw UsageError("--pairs {}: it is all, or sampled:K with K partners of each rank, at least 1",
                     text);
  return *partners >= ranks - 1 ? 0 : *partners;
}

std::vector<PairRound> pair_rounds(const Graph& graph, std::uint64_t seed, std::uint64_t partners) {
  const Rank ranks = graph.ranks();
  if (ranks < 2) return {};
  std::mt19937_64 engine(seed);
  const std::vector<Rank> name = drawn_order(ranks, engine);
  const NextRanks next = next_ranks(graph);
  // Of an odd number of ranks, the partner of a rank that does not exist has none.
  const Rank circle = ranks - 1 + ranks % 2;
  std::vector<Rank> order = drawn_order(circle, engine);
  if (partners != 0 && partners < order.size()) order.resize(partners);
  std::vector<PairRound> rounds;
  for (const Rank round : order) {
    PairRound pairs;
    for (Rank rank = 0; rank < circle; ++rank) {
      const Rank across = (2 * round + circle - rank) % circle;
      const Rank partner = across == rank ? circle : across;
      if (partner > rank && partner < ranks)
        pairs.push_back({std::min(name[rank], name[partner]), std::max(name[rank], name[partner])});
    }
    part_round(pairs, next, ranks, rounds);
  }
  return rounds;
}

std::vector<PairTurn> pair_turns(const std::vector<PairRound>& rounds, Rank rank) {
  std::vector<PairTurn> turns;
  for (const PairRound& round : rounds) {
    PairTurn& turn = turns.emplace_back(PairTurn{.partner = rank, .first = false});
    for (const auto& [first, second] : round) {
      if (first == rank) turn = {.partner = second, .first = true};
      if (second == rank) turn = {.partner = first, .first = false};
    }
  }
  return turns;
}

// Pairwise exchange (as MPI libraries do all-to-all of large messages; Thakur, Rabenseifner and
// Gropp, 2005): in round r a rank's partner is rank XOR r where their number is a power of two;
// else it sends r ranks ahead, and receives from r ranks behind.

constexpr Schedule kRounds{
    .name = "rounds",
    .description = "pairwise exchange: a partner a round, the next after its answer",
    .round =
        [](Flow flow, Rank ranks) {
          return std::has_single_bit(ranks) ? flow.from ^ flow.to : ranks_ahead(flow, ranks);
        },
    .place = [](Flow flow, Rank) { return flow.to; }};

// As a loop over all ranks has it: all begin with rank 0, which is then flooded, then rank 1...

constexpr Schedule kSimultaneous{.name = "simultaneous",
                                 .description = "everything at once, every rank to rank 0 first",
                                 .round = [](Flow, Rank) { return std::uint32_t{0}; },
                                 .place = [](Flow flow, Rank) { return flow.to; }};

// Every rank begins with the one after it, so that at no time all send to one.

constexpr Schedule kStaggered{.name = "staggered",
                              .description = "everything at once, every rank to its next one first",
                              .round = [](Flow, Rank) { return std::uint32_t{0}; },
                              .place = ranks_ahead};

// The list of schedules, and what they make of a rank's flows.

constexpr std::array kSchedules{&kSimultaneous, &kRounds, &kStaggered};

std::span<const Schedule* const> schedules() {
  return kSchedules;
}

std::vector<Round> rounds_of(Rank rank, std::span<const Flow> flows, Rank ranks,
                             const Schedule& schedule) {
  std::map<std::uint32_t, Round> by_number;
  for (const Flow& flow : flows) {
    if (flow.from == rank) by_number[schedule.round(flow, ranks)].to.push_back(flow.to);
    if (flow.to == rank) by_number[schedule.round(flow, ranks)].from.push_back(flow.from);
  }
  std::vector<Round> rounds;
  for (auto& [number, round] : by_number) {
    std::ranges::stable_sort(round.to, {}, [&](Rank to) {
      return schedule.place(Flow{rank, to}, ranks);
    });
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace rdmameter
