// SPDX-License-Identifier: Apache-2.0
// Reads lines of JSON, each a question with the name of a statistic and its arguments, and prints
// what our statistics make of each: for stats_oracle_test.py, which knows it from elsewhere.
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/stats/factorial.h"
#include "reports/stats/ranks.h"
#include "reports/stats/significance.h"
#include "reports/stats/student_t.h"

namespace {

using namespace rdmameter;
using Json = nlohmann::json;
using Values = std::vector<double>;

Json two_samples(const Json& given) {
  const auto x = given["x"].get<Values>(), y = given["y"].get<Values>();
  const MannWhitney test = mann_whitney(x, y);
  const Interval bounds = rank_interval(x, y, 0.95);
  return {{"greater", test.greater},
          {"less", test.less},
          {"shift", hodges_lehmann_shift(x, y)},
          {"low", bounds.low},
          {"high", bounds.high}};
}

Json variances(const Json& given) {
  std::vector<VarianceEstimate> estimates;
  for (const Json& one : given["variances"]) estimates.push_back({one[0], one[1]});
  const VarianceEstimate shared = shared_variance(estimates);
  return {{"variance", shared.variance}, {"degrees", shared.degrees}};
}

Json fisher(const Json& given) {
  const auto failures = [&](std::size_t side) {
    return Failures{given["fisher"][side][0], given["fisher"][side][1]};
  };
  return {{"p", fisher_exact(failures(0), failures(1))}};
}

/// A design is asked for by its number of factors, its analysis by [levels, block, value] of each
/// run.
Json factorial(const Json& given) {
  const std::size_t factors = given["factors"];
  if (!given.contains("runs")) return {{"design", factorial_design(factors)}};
  std::vector<FactorialRun> runs;
  for (const Json& run : given["runs"]) runs.push_back({run[0], run[1], run[2]});
  const auto analysis = analyse_factorial(runs, factors);
  Json effects = Json::array();
  for (const FactorialEffect& each : analysis->effects)
    effects.push_back({each.factors, each.value, each.low, each.high, each.p});
  return {{"effects", effects}};
}

/// The first key of a question says which.
const std::map<std::string, std::function<Json(const Json&)>> kStatistics = {
    {"p",
     [](const Json& given) -> Json {
       return {{"q", benjamini_hochberg(given["p"].get<Values>())}};
     }},
    {"x", two_samples},
    {"variances", variances},
    {"fisher", fisher},
    {"factors", factorial},
    {"pairs",
     [](const Json& given) -> Json {
       return {{"p", sign_randomisation(given["pairs"].get<std::vector<Values>>())}};
     }},
    {"t",
     [](const Json& given) -> Json {
       return {{"above", student_t_above(given["t"], given["degrees"])}};
     }},
    {"above",
     [](const Json& given) -> Json {
       return {{"t", student_t_quantile(given["above"], given["degrees"])}};
     }},
};

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const Json given = Json::parse(line);
    for (const auto& [key, statistic] : kStatistics)
      if (given.contains(key)) std::cout << statistic(given).dump() << "\n";
  }
}
