// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/decision_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/base/parse_value.h"
#include "core/result/row_json.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/text/case_text.h"
#include "reports/topology/tables.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

/// The transport, and the axes in which models of the same transport differ.
std::string over_with_axes(TopologyModels models, std::size_t index) {
  const auto& setting = models[index].setting;
  std::string text = value_text(fact_at(setting, "transport"));
  std::set<std::string> keys;
  for (const TopologyModel& other : models) {
    if (over_text(other) != over_text(models[index])) continue;
    std::set<std::string> differ, lacked;  // what another opcode lacks follows from that
    for (const auto& [key, value] : setting.items())
      if (!other.setting.contains(key))
        (key == "opcode" ? differ : lacked).insert(key);
      else if (other.setting.at(key) != value)
        differ.insert(key);
    keys.merge(differ.empty() && !other.setting.contains("opcode") ? lacked : differ);
  }
  for (const std::string& key : keys)
    text += fmt::format(" {}:{}", key, value_text(fact_at(setting, key)));
  return text;
}

Number farthest_ns(const Row& row, double percent) {
  if (row.topology->by_hops.empty()) return std::nullopt;
  const LatencyData& latency = row.topology->by_hops.back().latency;
  return reported_percentile(latency.histogram, percent, latency.half_round_trip ? 2 : 1);
}

/// What the case's own traffic tells.
void add_traffic(ShapeChoice& choice, const TopologyCase& one) {
  const TopologyData& topology = *one.topology;
  if (reach_of(topology.traffic) == Reach::pair) {
    choice.p50_ns = one.p50_ns;
    choice.p99_ns = one.p99_ns;
    choice.farthest_ns =
        median_of(one.summary, [](const Row& row) { return farthest_ns(row, 50); });
    choice.farthest_p99_ns =
        median_of(one.summary, [](const Row& row) { return farthest_ns(row, 99); });
  } else if (reach_of(topology.traffic) == Reach::between_all) {
    // A stream (`random`) has no such time.
    if (one.p50_ns && (!choice.exchange_ns || usual_schedule(topology)))
      choice.exchange_ns = one.p50_ns;
  } else if (topology.traffic == "flood" && one.rank_gbps && one.size_bytes > 0) {
    choice.rank_mmsg_per_s = *one.rank_gbps * 1e3 / (8 * real(one.size_bytes));
  }
}

/// What is over what, in the order of the lines.
using Overs = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// @return empty: some shape is there over several
Overs overs_of(std::span<const ShapeChoice> choices) {
  std::map<std::string, std::string> known;
  Overs overs;
  for (const ShapeChoice& choice : choices) {
    const auto [at, is_new] = known.emplace(choice.shape, choice.over);
    if (at->second != choice.over) return {};
    if (is_new) entry_of(overs, choice.over).push_back(choice.shape);
  }
  return overs;
}

/// "how to connect ranks, 64 B: mesh, ring over rc; udmesh over ud", where each shape is there over
/// one of them.
std::string decision_title(const Overs& overs, std::uint64_t size_bytes) {
  std::string title = fmt::format("how to connect ranks, {} B", size_bytes);
  if (overs.size() == 1) return title + " over " + printable(overs.front().first);
  for (const auto& [over, shapes] : overs)
    title += fmt::format("{}{} over {}", &over == &overs.front().first ? ": " : "; ",
                         printable(fmt::format("{}", fmt::join(shapes, ", "))), printable(over));
  return title;
}

using Exceeds = std::function<bool(const Prediction&)>;

/// The least number of ranks at which the shape exists and exceeds the limit.
/// @pre what is limited does not fall with the ranks
std::optional<std::uint64_t> ranks_beyond(const TopologyModel& model, const ModelShape& of,
                                          const Exceeds& exceeds) {
  const auto is_beyond = [&](std::uint64_t ranks) {
    const auto prediction = predict_resources(model, of, ranks);
    return prediction && exceeds(*prediction);
  };
  if (const auto shape = find_shape(of.graph); shape && shape->shape->drawn) {  // QPs do not grow
    const auto measured = std::ranges::find_if(model.ranks, is_beyond);
    return measured == model.ranks.end() ? std::nullopt : std::optional(*measured);
  }
  std::uint64_t beyond = 2;
  while (!is_beyond(beyond)) {
    beyond *= 2;
    if (beyond > kMaxPredictedRanks) return std::nullopt;
  }
  // Powers of two are sizes of every shape that has only some; other sizes lie between them.
  std::uint64_t within = beyond / 2;
  while (beyond - within > 1) {
    const std::uint64_t middle = within + (beyond - within) / 2;
    (is_beyond(middle) ? beyond : within) = middle;
  }
  return beyond;
}

/// "mesh from 257 ranks, star from 300 ranks; no other shape up to 1048576 ranks"
std::string ruled_out(TopologyModels models, std::uint64_t size_bytes, const Exceeds& exceeds) {
  std::vector<std::string> out;
  for (const TopologyModel& model : models)
    if (model.sizes_bytes.contains(size_bytes))
      for (const ModelShape& shape : model.shapes)
        if (const auto ranks = ranks_beyond(model, shape, exceeds))
          add_once(out, fmt::format("{} from {} ranks", printable(shape_text(shape)), *ranks));
  const std::string most = fmt::format("shape up to {} ranks", kMaxPredictedRanks);
  return out.empty() ? "no " + most : fmt::format("{}; no other {}", fmt::join(out, ", "), most);
}

Exceeds more_qps_than(std::uint64_t limit) {
  return [limit](const Prediction& prediction) { return prediction.qps_per_rank > limit; };
}

std::string memory_sentence(TopologyModels models, std::uint64_t size_bytes,
                            std::uint64_t budget_bytes) {
  const std::string budget =
      fmt::format("The memory budget of {} a rank", bytes_text(budget_bytes));
  const auto known = filtered(models, &TopologyModel::knows_memory);
  std::string unknown;
  for (const TopologyModel& model : models)
    for (const ModelShape& shape : model.shapes)
      if (!model.knows_memory) add_item(unknown, printable(shape_text(shape)));
  if (!unknown.empty())
    unknown = fmt::format(
        " Not known of {}: their rows do not tell it, or another release wrote them.", unknown);
  if (known.empty()) return fmt::format("{}:{}", budget, unknown);
  const auto exceeds = [&](const Prediction& prediction) {
    const auto at =
        std::ranges::find(prediction.sizes, size_bytes, &Prediction::AtSize::size_bytes);
    return at != prediction.sizes.end() && at->memory_bytes.value_or(0) > real(budget_bytes);
  };
  return fmt::format("{} rules out {}, by the memory of connections.{}", budget,
                     ruled_out(known, size_bytes, exceeds), unknown);
}

bool uses_all_qps(const TopologyCase& one) {
  const auto& axes = one.summary.first().case_object;
  return !axes.contains("active") || axes.at("active") == "max" || axes.at("active") == one.qps_max;
}

/// Else QPs are not all that makes its rate: a star's is that of its centre's port.
bool has_equal_ranks(const TopologyCase& one) {
  return std::ranges::adjacent_find(one.topology->qps_per_rank, std::not_equal_to{}) ==
         one.topology->qps_per_rank.end();
}

bool is_flood(const TopologyCase& one, std::size_t model, std::uint64_t size_bytes) {
  return one.model == model && one.size_bytes == size_bytes && one.topology->traffic == "flood";
}

std::string knee_sentence(const TopologyModel& model, const Knee& knee, std::uint64_t size_bytes) {
  if (knee.undecided())
    return fmt::format(
        "No knee up to {} QPs of a rank{}; up to {} some repetitions are 10 % lower and others are "
        "not.",
        knee.fast, over_text(model), knee.most);
  if (!knee.found())
    return fmt::format("No knee up to {} QPs of a rank{}.", knee.fast, over_text(model));
  return fmt::format("Knee{}: a rank is slower with {} QPs than with {}, which rules out {}.",
                     over_text(model), knee.slow, knee.fast,
                     ruled_out({&model, 1}, size_bytes, more_qps_than(knee.slow - 1)));
}

}  // namespace

std::vector<ShapeChoice> shape_choices(TopologyCases cases, TopologyModels models,
                                       std::uint64_t size_bytes) {
  std::vector<ShapeChoice> choices;
  for (const TopologyCase& one : cases) {
    if (one.size_bytes != size_bytes) continue;
    const std::string shape = shape_label(one), over = over_with_axes(models, one.model);
    auto found = std::ranges::find_if(choices, [&](const ShapeChoice& choice) {
      return choice.ranks == one.topology->ranks && choice.shape == shape && choice.over == over;
    });
    if (found == choices.end())
      found = choices.insert(
          found, ShapeChoice{.ranks = one.topology->ranks, .shape = shape, .over = over});
    ShapeChoice& choice = *found;
    if (one.qps_max > 0) choice.qps = real(one.qps_max);
    if (one.memory_bytes) choice.memory_bytes = std::max(choice.memory_bytes, one.memory_bytes);
    for (const Row* row : one.summary.repetitions) {
      const double sum = sum_of_amounts(row->topology->connect_ns);
      if (sum > 0) choice.connects_ns.push_back(sum);
    }
    choice.connect_ns = known_median(choice.connects_ns);
    add_traffic(choice, one);
  }
  std::ranges::stable_sort(choices, {}, &ShapeChoice::ranks);
  return choices;
}

Table decision_table(std::span<const ShapeChoice> choices, std::uint64_t size_bytes) {
  const Overs overs = overs_of(choices);
  const bool names_over = overs.empty();
  Table table{.key_columns = names_over ? 3U : 2U, .title = decision_title(overs, size_bytes)};
  for (const ShapeChoice& choice : choices) {
    TableLine line(table);
    line.add({"ranks"}, choice.ranks);
    line.add_text("graph", printable(choice.shape));
    if (names_over) line.add_text("over", printable(choice.over));
  }
  const auto time = [&](const char* head, Number ShapeChoice::*member, bool optional = false) {
    const Unit unit = unit_of_times(choices, member);
    return NumberColumn<ShapeChoice>{
        {.head = head, .optional = optional}, member, std::min(max_decimals(unit), 2), unit};
  };
  add_numbers<ShapeChoice>(table, choices,
                           {{{"QPs"}, &ShapeChoice::qps},
                            {{"memory"}, &ShapeChoice::memory_bytes, 1, {"KiB", 1024}},
                            time("connect", &ShapeChoice::connect_ns),
                            time("p50", &ShapeChoice::p50_ns),
                            time("p99", &ShapeChoice::p99_ns),
                            time("p50 far", &ShapeChoice::farthest_ns),
                            time("p99 far", &ShapeChoice::farthest_p99_ns, true),
                            time("alltoall", &ShapeChoice::exchange_ns),
                            {{"flood"}, &ShapeChoice::rank_mmsg_per_s, 3, {"Mmsg/s"}}},
                           true);
  return table;
}

std::vector<Decision> decisions(TopologyCases cases, TopologyModels models,
                                const GivenLimits& limits) {
  std::set<std::uint64_t> sizes;
  for (const TopologyCase& one : cases) sizes.insert(one.size_bytes);
  std::vector<Decision> list;
  for (const std::uint64_t size : sizes)
    list.push_back({decision_table(shape_choices(cases, models, size), size),
                    limit_sentences(cases, models, size, limits)});
  return list;
}

std::optional<std::uint64_t> least_max_qp(const Json& context) {
  std::optional<std::uint64_t> least;
  for (const auto& one : list_at(context, "/rdmameter/ranks"))
    if (const auto& max_qp = fact_at(one, "max_qp"); max_qp.is_number_unsigned())
      least = std::min(least.value_or(max_qp), max_qp.get<std::uint64_t>());
  return least;
}

Knee measured_knee(TopologyCases cases, std::size_t model, std::uint64_t size_bytes) {
  // Of each number of ranks, by QPs, up to a factor that the rows of one size share.
  std::vector<std::pair<std::uint64_t, std::map<std::uint64_t, std::vector<double>>>> rates;
  for (const TopologyCase& one : cases) {
    auto& by_qps = entry_of(rates, one.topology->ranks);
    if (!is_flood(one, model, size_bytes) || one.topology->yielding || one.qps_max == 0 ||
        !uses_all_qps(one) || !has_equal_ranks(one))
      continue;
    for (const Row* row : one.summary.repetitions)
      if (row->bandwidth && row->bandwidth->window_ns != 0)
        by_qps[one.qps_max].push_back(bandwidth_gbps(*row->bandwidth));
  }
  Knee first, open, none;
  for (const auto& [ranks, by_qps] : rates) {
    const Knee knee = find_knee(by_qps);
    if (knee.found()) {
      if (!first.found() || knee.slow < first.slow) first = knee;
    } else if (knee.undecided() && knee.fast != 0) {
      if (!open.undecided() || knee.fast < open.fast) open = knee;
    } else if (knee.fast > none.fast) {
      none = knee;
    }
  }
  return first.found() ? first : open.undecided() ? open : none;
}

std::vector<std::string> limit_sentences(TopologyCases cases, TopologyModels models,
                                         std::uint64_t size_bytes, const GivenLimits& limits) {
  std::vector<std::string> sentences;
  if (limits.max_qp)
    sentences.push_back(fmt::format("The device's {} QPs, of one rank on each device, rule out {}.",
                                    *limits.max_qp,
                                    ruled_out(models, size_bytes, more_qps_than(*limits.max_qp))));
  if (limits.memory_budget_bytes)
    sentences.push_back(memory_sentence(models, size_bytes, *limits.memory_budget_bytes));
  std::string unknown;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Knee knee = measured_knee(cases, i, size_bytes);
    if (knee.fast != 0)
      sentences.push_back(knee_sentence(models[i], knee, size_bytes));
    else if (std::ranges::any_of(
                 cases, [&](const TopologyCase& one) { return is_flood(one, i, size_bytes); }))
      add_item(unknown, over_text(models[i]), ",");
  }
  if (!unknown.empty())
    sentences.push_back(
        fmt::format("Whether there is a knee{} is not known: it needs flood at two numbers of QPs "
                    "of as many ranks, and a core for each rank.",
                    unknown));
  return sentences;
}

}  // namespace rdmameter
