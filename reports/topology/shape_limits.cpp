// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/shape_limits.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/base/parse_value.h"
#include "core/result/row_json.h"
#include "reports/text/case_text.h"

namespace rdmameter {
namespace {

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
std::string ruled_out(std::span<const TopologyModel> models, std::uint64_t size_bytes,
                      const Exceeds& exceeds) {
  std::string out;
  std::vector<std::string> told;
  for (const TopologyModel& model : models) {
    if (!std::ranges::binary_search(model.sizes_bytes, size_bytes)) continue;
    for (const ModelShape& shape : model.shapes) {
      const auto ranks = ranks_beyond(model, shape, exceeds);
      if (!ranks) continue;
      std::string text = fmt::format("{} from {} ranks", printable(shape_text(shape)), *ranks);
      if (std::ranges::find(told, text) != told.end()) continue;
      out += (out.empty() ? "" : ", ") + text;
      told.push_back(std::move(text));
    }
  }
  const std::string most = fmt::format("shape up to {} ranks", kMaxPredictedRanks);
  return out.empty() ? "no " + most : out + "; no other " + most;
}

Exceeds more_qps_than(std::uint64_t limit) {
  return [limit](const Prediction& prediction) { return prediction.qps_per_rank > limit; };
}

Exceeds more_memory_than(std::uint64_t size_bytes, double limit_bytes) {
  return [size_bytes, limit_bytes](const Prediction& prediction) {
    const auto at =
        std::ranges::find(prediction.sizes, size_bytes, &Prediction::AtSize::size_bytes);
    return at != prediction.sizes.end() && at->memory_bytes.value_or(0) > limit_bytes;
  };
}

std::string memory_sentence(std::span<const TopologyModel> models, std::uint64_t size_bytes,
                            std::uint64_t budget_bytes) {
  const std::string budget =
      fmt::format("The memory budget of {} a rank", bytes_text(budget_bytes));
  std::vector<TopologyModel> known;
  std::string unknown;
  for (const TopologyModel& model : models)
    if (model.knows_memory) {
      known.push_back(model);
    } else {
      for (const ModelShape& shape : model.shapes)
        unknown += (unknown.empty() ? "" : ", ") + std::string(printable(shape_text(shape)));
    }
  if (!unknown.empty())
    unknown = fmt::format(
        " Not known of {}: their rows do not tell it, or another release wrote them.", unknown);
  if (known.empty()) return fmt::format("{}:{}", budget, unknown);
  return fmt::format(
      "{} rules out {}, by the memory of connections.{}", budget,
      ruled_out(known, size_bytes, more_memory_than(size_bytes, static_cast<double>(budget_bytes))),
      unknown);
}

bool uses_all_qps(const TopologyCase& one) {
  const auto& axes = one.summary.repetitions.front()->case_object;
  return !axes.contains("active") || axes.at("active") == "max" || axes.at("active") == one.qps_max;
}

/// Messages per second, up to a factor that the rows of one size share.
std::map<std::uint64_t, std::vector<double>> flood_rates(std::span<const TopologyCase> cases,
                                                         std::size_t model,
                                                         std::uint64_t size_bytes,
                                                         std::uint64_t ranks) {
  std::map<std::uint64_t, std::vector<double>> by_qps;
  for (const TopologyCase& one : cases) {
    const TopologyData& topology = *one.topology;
    if (one.model != model || one.size_bytes != size_bytes || topology.ranks != ranks ||
        topology.traffic != "flood" || topology.yielding || one.qps_max == 0 || !uses_all_qps(one))
      continue;
    for (const Row* row : one.summary.repetitions) {
      if (!row->bandwidth || row->bandwidth->window_ns == 0) continue;
      by_qps[one.qps_max].push_back(bandwidth_gbps(*row->bandwidth));
    }
  }
  return by_qps;
}

bool has_flood(std::span<const TopologyCase> cases, std::size_t model, std::uint64_t size_bytes) {
  return std::ranges::any_of(cases, [&](const TopologyCase& one) {
    return one.model == model && one.size_bytes == size_bytes && one.topology->traffic == "flood";
  });
}

std::string over_text(const TopologyModel& model) {
  return model.setting.contains("transport") ? " over " + value_text(model.setting.at("transport"))
                                             : "";
}

std::string knee_sentence(const TopologyModel& model, const Knee& knee, std::uint64_t size_bytes) {
  if (knee.slow == 0)
    return fmt::format("No knee up to {} QPs of a rank{}.", knee.fast, over_text(model));
  return fmt::format("Knee{}: a rank is slower with {} QPs than with {}, which rules out {}.",
                     over_text(model), knee.slow, knee.fast,
                     ruled_out({&model, 1}, size_bytes, more_qps_than(knee.slow - 1)));
}

}  // namespace

std::optional<std::uint64_t> least_max_qp(const nlohmann::ordered_json& context) {
  const nlohmann::ordered_json::json_pointer ranks("/rdmameter/ranks");
  std::optional<std::uint64_t> least;
  if (!context.contains(ranks) || !context.at(ranks).is_array()) return least;
  for (const auto& one : context.at(ranks)) {
    const auto found = one.is_object() ? one.find("max_qp") : one.end();
    if (found == one.end() || !found->is_number_unsigned()) continue;
    const auto max_qp = found->get<std::uint64_t>();
    least = std::min(least.value_or(max_qp), max_qp);
  }
  return least;
}

Knee measured_knee(std::span<const TopologyCase> cases, std::size_t model,
                   std::uint64_t size_bytes) {
  Knee first, none;
  std::vector<std::uint64_t> seen;
  for (const TopologyCase& one : cases) {
    const std::uint64_t ranks = one.topology->ranks;
    if (std::ranges::find(seen, ranks) != seen.end()) continue;
    seen.push_back(ranks);
    const Knee knee = find_knee(flood_rates(cases, model, size_bytes, ranks));
    if (knee.slow == 0)
      none.fast = std::max(none.fast, knee.fast);
    else if (first.slow == 0 || knee.slow < first.slow)
      first = knee;
  }
  return first.slow != 0 ? first : none;
}

std::vector<std::string> limit_sentences(std::span<const TopologyCase> cases,
                                         std::span<const TopologyModel> models,
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
    else if (has_flood(cases, i, size_bytes))
      unknown += (unknown.empty() ? "" : ",") + over_text(models[i]);
  }
  if (!unknown.empty())
    sentences.push_back(
        fmt::format("Whether there is a knee{} is not known: it needs flood at two numbers of QPs "
                    "of as many ranks, and a core for each rank.",
                    unknown));
  return sentences;
}

}  // namespace rdmameter
