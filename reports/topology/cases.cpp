// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/cases.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "core/base/printable.h"
#include "reports/summary/facts.h"
#include "reports/summary/metric.h"
#include "reports/topology/model/rank_places.h"
#include "reports/topology/model_text.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

Number median_total(const CaseSummary& summary, NamedCounts TopologyData::*member) {
  return median_of(summary, [member](const Row& row) {
    const NamedCounts& amounts = (*row.topology).*member;
    return amounts.empty() ? Number() : sum_of_amounts(amounts);
  });
}

void add_numbers(TopologyCase& one, TopologyModels models) {
  const auto& summary = one.summary;
  one.p50_ns = median_of(summary, info_of(Metric::p50).value);
  one.p99_ns = median_of(summary, info_of(Metric::p99).value);
  one.connect_ns = median_total(summary, &TopologyData::connect_ns);
  one.memory_bytes = median_total(summary, &TopologyData::connection_bytes);
  one.relay_bytes = median_total(summary, &TopologyData::relay_bytes);
  one.barrier_ns = median_of(summary, [](const Row& row) { return row.topology->barrier_ns; });
  one.gbps = median_of(summary, info_of(Metric::gbps).value);
  if (const double senders = sending_ranks(*one.topology); one.gbps && senders > 0)
    one.rank_gbps = *one.gbps / senders;
  one.jain = median_of(summary, [](const Row& row) { return row.topology->jain; });
  one.share = median_of(summary, [&](const Row& row) {
    return row.topology->model_share ? row.topology->model_share
                                     : model_share(models[one.model], row);
  });
  one.qps_max = most_qps(*one.topology);
}

/// The verdict of more than half of the repetitions that have one; none where they disagree.
/// Nothing: no repetition has one.
std::optional<Straggler> told_straggler(const CaseSummary& summary) {
  std::vector<Straggler> verdicts;
  for (const Row* row : summary.repetitions)
    if (row->topology->straggler &&
        row->topology->straggler->verdict != Straggler::Verdict::unknown)
      verdicts.push_back(*row->topology->straggler);
  if (verdicts.empty()) return std::nullopt;
  const auto key = [](const Straggler& one) { return std::tuple(one.verdict, one.rank, one.to); };
  for (const Straggler& one : verdicts)
    if (2 * static_cast<std::size_t>(std::ranges::count(verdicts, key(one), key)) > verdicts.size())
      return one;
  return Straggler{};
}

}  // namespace

std::vector<TopologyCase> topology_cases(std::span<const Row> rows, TopologyModels models,
                                         const Json& context) {
  const RankPlaces hosts = hosts_of(context);
  std::vector<TopologyCase> cases;
  for (Group& group : group_rows(rows))
    for (CaseSummary& summary : group.cases) {
      const bool is_one = std::ranges::all_of(summary.repetitions, [](const Row* row) {
        return row->topology && row->topology->ranks >= 2;
      });
      if (!is_one) continue;
      TopologyCase one{.summary = std::move(summary)};
      const Row& row = one.summary.first();
      one.topology = &*row.topology;
      one.size_bytes = message_size_of(row);
      one.places = places_of(one.summary.repetitions, hosts).front();
      one.model = model_of(models, row);
      add_numbers(one, models);
      cases.push_back(std::move(one));
    }
  const auto order = [&](const TopologyCase& one) {
    const auto& shapes = models[one.model].shapes;
    return std::tuple(one.model, one.topology->traffic, one.size_bytes, one.topology->ranks,
                      std::ranges::find(shapes, shape_of(one.summary.first())));
  };
  std::ranges::stable_sort(cases, {}, order);
  return cases;
}

std::vector<TopologyCase> cases_of_model(TopologyCases cases, std::size_t model) {
  return filtered(cases, [model](const TopologyCase& one) { return one.model == model; });
}

std::vector<TopologyCase> without_collectives(TopologyCases cases) {
  return filtered(cases, [](const TopologyCase& one) { return !one.topology->collective; });
}

std::vector<const TopologyCase*> pictured_cases(TopologyCases cases, bool all, bool judge_shared) {
  std::vector<const TopologyCase*> chosen;
  for (const TopologyCase& one : cases) {
    if (one.topology->matrix_ns.empty()) continue;
    const auto straggler = straggler_of(one, matrix_of(one), judge_shared);
    const auto same = std::ranges::find_if(chosen, [&](const TopologyCase* other) {
      return other->topology->graph == one.topology->graph && other->model == one.model &&
             other->topology->traffic == one.topology->traffic;
    });
    const bool failed = std::ranges::any_of(one.summary.repetitions, [](const Row* row) {
      return !row->topology->failed_pairs.empty();
    });
    if (all || same == chosen.end() || straggler || failed)
      chosen.push_back(&one);
    else if (std::tuple((*same)->topology->ranks, one.size_bytes) <
             std::tuple(one.topology->ranks, (*same)->size_bytes))
      *same = &one;
  }
  return chosen;
}

Unit PairNumbers::unit(double min_ns) const {
  return bandwidths() ? rate_unit(Metric::gbps, message_bits / min_ns) : time_unit(min_ns);
}

std::string PairNumbers::text(double ns) const {
  return bandwidths() ? metric_text(Metric::gbps, message_bits / ns) : time_value(ns);
}

PairNumbers pair_numbers(const TopologyCase& one) {
  const bool streams = reach_of(one.topology->traffic) == Reach::pair_stream;
  return {streams ? 8 * real(one.size_bytes) : 0};
}

Matrix matrix_of(const TopologyCase& one) {
  std::vector<const Matrix*> matrices;
  for (const Row* row : one.summary.repetitions)
    if (!row->topology->matrix_ns.empty()) matrices.push_back(&row->topology->matrix_ns);
  return median_matrix(matrices);
}

bool ranks_shared_cores(const TopologyCase& one) {
  return std::ranges::any_of(one.summary.repetitions,
                             [](const Row* row) { return row->topology->yielding; });
}

std::optional<Straggler> straggler_of(const TopologyCase& one, const Matrix& matrix_ns,
                                      bool judge_shared) {
  if (const auto said = told_straggler(one.summary)) return said->rank ? said : std::nullopt;
  if (ranks_shared_cores(one) && !judge_shared) return std::nullopt;
  if (pair_numbers(one).bandwidths()) return std::nullopt;  // only round trips are judged
  if (matrix_ns.empty()) return std::nullopt;               // an exchange has none
  // A simulated network whose hosts were not specified has none that differ.
  const bool simulated = row_path(one.summary.first()) == "simulated";
  const RankPlaces places =
      one.places.empty() && simulated ? RankPlaces(matrix_ns.size()) : one.places;
  if (places.size() != matrix_ns.size()) return std::nullopt;
  const Straggler found = find_straggler(matrix_ns, one.topology->edges, places);
  return found.rank ? std::optional(found) : std::nullopt;
}

std::string rank_text(const Json& context, std::uint64_t rank) {
  for (const Json& one : list_at(context, "/rdmameter/ranks"))
    if (const std::string host = text_at(one, "host");
        !host.empty() && fact_at(one, "rank") == Json(rank))
      return fmt::format("rank {} ({})", rank, printable(host));
  return fmt::format("rank {}", rank);
}

std::string straggler_text(const std::optional<Straggler>& straggler, const Json& context) {
  if (!straggler) return "";
  const std::string who = rank_text(context, *straggler->rank);
  const double factor = straggler->factor.value_or(1);
  const auto to = [&] { return rank_text(context, straggler->to.value_or(0)); };
  switch (straggler->verdict) {
    case Straggler::Verdict::node:
      return fmt::format("{} takes {:.1f} times as long as the others, with every peer", who,
                         factor);
    case Straggler::Verdict::path:
      return fmt::format("{} and {} take {:.1f} times as long as other neighbours", who, to(),
                         factor);
    case Straggler::Verdict::direction:
      return fmt::format(
          "messages from {} to {} take {:.1f} times as long as those of other neighbours; the way "
          "back does not",
          who, to(), factor);
    case Straggler::Verdict::none:
    case Straggler::Verdict::unknown:
      break;
  }
  return "";
}

std::string shape_label(const TopologyCase& one) {
  std::string label = one.topology->graph;
  for (const auto& [key, plain] : {std::pair{"inflate", Json(0)}, std::pair{"active", Json("max")},
                                   std::pair{"qps_per_edge", Json(1)}})
    if (const auto value = one.summary.case_object.find(key);
        value != one.summary.case_object.end() && *value != plain)
      label += fmt::format(" {}:{}", key,
                           value->is_string() ? value->get<std::string>() : value->dump());
  return label;
}

std::string case_title(const TopologyCase& one) {
  return fmt::format("{}, {} ranks, {} B", printable(shape_label(one)), one.topology->ranks,
                     one.size_bytes);
}

}  // namespace rdmameter
