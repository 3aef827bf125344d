// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/crossover.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

namespace rdmameter {
namespace {

/// A number of a shape, less is better; `draw` 0: by all observations, else without a group.
struct Contest {
  std::string number;
  std::optional<std::uint64_t> size_bytes;
  std::size_t draws = 1;
  std::function<std::optional<double>(const ShapeFigures&, std::uint64_t ranks, std::size_t draw)>
      value;
};

/// Every number of ranks up to 64, then steps of a twentieth, powers of two among them.
std::vector<std::uint64_t> compared_ranks() {
  std::vector<std::uint64_t> ranks;
  for (std::uint64_t n = 2; n <= kMostComparedRanks;
       n = std::max(n + 1, static_cast<std::uint64_t>(static_cast<double>(n) * 1.05)))
    ranks.push_back(n);
  for (std::uint64_t n = 2; n <= kMostComparedRanks; n *= 2) ranks.push_back(n);
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

using Hops = std::function<std::optional<double>(const ShapeFigures&)>;

Contest cost_contest(std::string number, const TopologyModel& model, const CostFit& fit,
                     std::uint64_t size_bytes, Hops hops) {
  return {
      std::move(number), size_bytes, 1 + fit.without().size(),
      [&model, &fit, size_bytes, hops = std::move(hops)](
          const ShapeFigures& figures, std::uint64_t, std::size_t draw) -> std::optional<double> {
        const auto over = hops(figures);
        const auto& without = fit.without();
        if (!over || (draw > 0 && !without[draw - 1])) return std::nullopt;
        const Costs& costs = draw == 0 ? fit.costs() : *without[draw - 1];
        return costs.time_ns(*over, static_cast<double>(size_bytes),
                             static_cast<double>(qps_of(model, figures)));
      }};
}

Contest growth_contest(
    std::string number, const Growth& growth, std::optional<std::uint64_t> size_bytes,
    std::function<std::vector<double>(const ShapeFigures&, std::uint64_t)> terms) {
  return {std::move(number), size_bytes, 1 + growth.groups(),
          [&growth, terms = std::move(terms)](const ShapeFigures& figures, std::uint64_t ranks,
                                              std::size_t draw) {
            const std::vector<double> at = terms(figures, ranks);
            return draw == 0 ? growth.value(at) : growth.value_without(draw - 1, at);
          }};
}

std::vector<Contest> contests(const TopologyModel& model) {
  std::vector<Contest> made;
  for (const std::uint64_t size : model.sizes_bytes) {
    if (model.latency)
      made.push_back(cost_contest("mean latency", model, *model.latency, size,
                                  [&model](const ShapeFigures& figures) -> std::optional<double> {
                                    if (figures.hops_max > 1 && !model.latency->knows_per_hop())
                                      return std::nullopt;
                                    return figures.hops_mean;
                                  }));
    for (const Exchange& exchange : model.exchanges)
      made.push_back(cost_contest(
          exchange.name, model, exchange.time, size,
          [&exchange](const ShapeFigures& figures) { return exchange.hops(figures); }));
    if (model.memory)
      made.push_back(growth_contest(
          "memory of a rank", *model.memory, size,
          [&model, size](const ShapeFigures& figures, std::uint64_t) {
            return memory_terms(static_cast<double>(qps_of(model, figures)),
                                static_cast<double>(figures.hops_max), static_cast<double>(size));
          }));
  }
  if (model.setup)
    made.push_back(growth_contest("set-up time", *model.setup, {},
                                  [&model](const ShapeFigures& figures, std::uint64_t ranks) {
                                    return setup_terms(static_cast<double>(qps_of(model, figures)),
                                                       static_cast<double>(ranks));
                                  }));
  return made;
}

struct Figures {
  std::uint64_t ranks;
  ShapeFigures a, b;
};

/// The figures of one shape at each number of ranks, nothing where it does not exist.
using FiguresOfShape = std::vector<std::optional<ShapeFigures>>;

std::vector<FiguresOfShape> figures_of(const std::vector<std::string>& graphs,
                                       const std::vector<std::uint64_t>& ranks) {
  std::vector<FiguresOfShape> all;
  for (const std::string& graph : graphs) {
    all.emplace_back();
    for (const std::uint64_t n : ranks) all.back().push_back(shape_figures(graph, n));
  }
  return all;
}

/// Who is better first, and the first number of ranks at which the other one is.
struct Outcome {
  bool a_first = false;
  std::optional<std::uint64_t> at;
};

std::optional<Outcome> outcome(const Contest& contest, const std::vector<Figures>& all,
                               std::size_t draw) {
  constexpr double kAlike = 0.01;
  std::optional<Outcome> made;
  for (const Figures& one : all) {
    const auto a = contest.value(one.a, one.ranks, draw);
    const auto b = contest.value(one.b, one.ranks, draw);
    if (!a || !b || !(*a > 0) || !(*b > 0)) return std::nullopt;
    if (std::abs(std::log(*a / *b)) < kAlike) continue;
    if (!made) made = Outcome{*a < *b, {}};
    if ((*a < *b) != made->a_first) {
      made->at = one.ranks;
      return made;
    }
  }
  return made;
}

/// The interval, from where it lies without each of the groups.
void add_interval(Crossover& made, const Contest& contest, const std::vector<Figures>& all,
                  bool a_first) {
  std::vector<std::optional<double>> logs;
  for (std::size_t draw = 1; draw < contest.draws; ++draw) {
    const auto without = outcome(contest, all, draw);
    if (!without || !without->at || without->a_first != a_first) return;
    logs.emplace_back(std::log(static_cast<double>(*without->at)));
  }
  const Estimate estimated = estimate_ratio(static_cast<double>(*made.at), jackknife(logs), 0);
  constexpr double kBeyondAll = 1e9;  // the interval of what hardly differs has no end
  if (!estimated.low || *estimated.high > kBeyondAll) return;
  made.low = std::max<std::uint64_t>(2, static_cast<std::uint64_t>(std::floor(*estimated.low)));
  made.high = static_cast<std::uint64_t>(std::ceil(*estimated.high));
}

}  // namespace

std::vector<Crossover> crossovers(const TopologyModel& model) {
  constexpr std::size_t kMostShapes = 12;  // the pairs of more are no longer looked through
  const std::vector<std::uint64_t> ranks = compared_ranks();
  std::vector<std::string> graphs = model.graphs;
  graphs.resize(std::min(graphs.size(), kMostShapes));
  const std::vector<FiguresOfShape> of_shape = figures_of(graphs, ranks);
  const std::vector<Contest> all_contests = contests(model);
  std::vector<Crossover> made;
  for (std::size_t i = 0; i < graphs.size(); ++i)
    for (std::size_t j = i + 1; j < graphs.size(); ++j) {
      std::vector<Figures> figures;
      for (std::size_t at = 0; at < ranks.size(); ++at)
        if (const auto& a = of_shape[i][at], &b = of_shape[j][at]; a && b)
          figures.push_back({ranks[at], *a, *b});
      for (const Contest& contest : all_contests) {
        const auto who = outcome(contest, figures, 0);
        if (!who) continue;
        const std::string &first = graphs[who->a_first ? i : j],
                          &second = graphs[who->a_first ? j : i];
        made.push_back({contest.number, contest.size_bytes, first, second, who->at, {}, {}});
        if (who->at) add_interval(made.back(), contest, figures, who->a_first);
      }
    }
  return made;
}

}  // namespace rdmameter
