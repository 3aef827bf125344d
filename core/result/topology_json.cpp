// SPDX-License-Identifier: Apache-2.0
// What must hold of a topology beyond each of its fields.
#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "core/result/row_fields.h"

namespace rdmameter {
namespace {

void check_length(const CheckedJson& json, std::uint64_t ranks) {
  if (json.array_size() != ranks)
    json.fail(fmt::format("has {} elements, one for each of {} ranks", json.array_size(), ranks));
}

}  // namespace

void check_lengths(const TopologyData& data) {
  const auto check = [&data](std::size_t length, const char* key) {
    if (length != 0 && length != data.ranks)
      throw std::logic_error(std::string("a topology needs one element for each rank: ") + key);
  };
  check(data.qps_per_rank.size(), "qps_per_rank");
  check(data.rank_gbps.size(), "rank_gbps");
  check(data.matrix_ns.size(), "matrix_ns");
  for (const auto& row : data.matrix_ns) check(row.empty() ? 1 : row.size(), "matrix_ns");
}

const char* verdict_name(Straggler::Verdict verdict) {
  switch (verdict) {
    case Straggler::Verdict::none:
      return "none";
    case Straggler::Verdict::node:
      return "node";
    case Straggler::Verdict::path:
      return "path";
    case Straggler::Verdict::direction:
      return "direction";
    case Straggler::Verdict::unknown:
      return "unknown";
  }
  return "";
}

void complete(Straggler& straggler, const CheckedJson& json) {
  using enum Straggler::Verdict;
  const bool one = straggler.verdict == node;
  const bool two = straggler.verdict == path || straggler.verdict == direction;
  const auto check = [&](bool there, bool wanted, const char* key) {
    if (there != wanted)
      json.fail(fmt::format("of the verdict \"{}\" {} `{}`", verdict_name(straggler.verdict),
                            wanted ? "needs" : "has no", key));
  };
  check(straggler.rank.has_value(), one || two, "rank");
  check(straggler.to.has_value(), two, "to");
  check(straggler.factor.has_value(), one || two, "factor");
}

void complete(TopologyData& data, const CheckedJson& json) {
  for (const char* key : {"qps_per_rank", "rank_gbps", "matrix_ns"})
    if (const auto by_rank = json.find(key)) check_length(*by_rank, data.ranks);
  for (std::size_t i = 0; i < data.matrix_ns.size(); ++i)
    check_length(json.at("matrix_ns").at(i), data.ranks);
  const auto slowest =
      data.matrix_summary ? data.matrix_summary->slowest : std::vector<MatrixSummary::Pair>();
  for (std::size_t i = 0; i < slowest.size(); ++i)
    if (std::max(slowest[i].from, slowest[i].to) >= data.ranks)
      json.at("matrix_summary").at("slowest").at(i).fail("names a rank that is not there");
  for (std::size_t i = 0; i < data.failed_pairs.size(); ++i)
    if (std::max(data.failed_pairs[i].from, data.failed_pairs[i].to) >= data.ranks)
      json.at("failed_pairs").at(i).fail("names a rank that is not there");
  for (std::size_t i = 0; i < data.edges.size(); ++i)
    if (data.edges[i].first == data.edges[i].second)
      json.at("edges").at(i).fail("joins a rank with itself");
  if (data.straggler)
    for (const auto& rank : {data.straggler->rank, data.straggler->to})
      if (rank && *rank >= data.ranks)
        json.at("straggler").fail(fmt::format("names rank {} of {}", *rank, data.ranks));
  for (std::size_t i = 1; i < data.by_hops.size(); ++i)
    if (data.by_hops[i].hops <= data.by_hops[i - 1].hops)
      json.at("by_hops").at(i).at("hops").fail("is not greater than the one before it");
  std::uint64_t sum = 0;  // never wraps: at most 2^20 ranks of 2^32 QPs
  for (const std::uint64_t qps : data.qps_per_rank) sum += qps;
  if (data.qps_total && !data.qps_per_rank.empty() && *data.qps_total != sum)
    json.at("qps_total").fail(fmt::format("is not the sum of `qps_per_rank` ({})", sum));
}

}  // namespace rdmameter
