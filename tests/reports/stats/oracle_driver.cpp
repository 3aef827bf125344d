// SPDX-License-Identifier: Apache-2.0
// Reads lines of JSON, {"x": [...], "y": [...]} or {"p": [...]}, and prints what our statistics
// make of each: for stats_oracle_test.py, which knows it from elsewhere.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "reports/stats/benjamini_hochberg.h"
#include "reports/stats/hodges_lehmann.h"
#include "reports/stats/mann_whitney.h"

int main() {
  using namespace rdmameter;
  for (std::string line; std::getline(std::cin, line);) {
    const auto given = nlohmann::json::parse(line);
    nlohmann::json made;
    if (given.contains("p")) {
      made["q"] = benjamini_hochberg(given["p"].get<std::vector<double>>());
    } else {
      const auto x = given["x"].get<std::vector<double>>();
      const auto y = given["y"].get<std::vector<double>>();
      const MannWhitney test = mann_whitney(x, y);
      made = {{"greater", test.greater},
              {"less", test.less},
              {"two_sided", test.two_sided()},
              {"ratio", hodges_lehmann_ratio(x, y)}};
    }
    std::cout << made.dump() << "\n";
  }
}
