// SPDX-License-Identifier: Apache-2.0
// The defaults of settings, as a result states them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/result/row.h"
#include "reports/summary/facts.h"

namespace rdmameter {

/// The defaults that results were measured under, by kind of test.
class Defaults {
 public:
  enum class Kind : std::size_t { latency, bandwidth, load, ranks };

  /// @param context  of a result; of one that states none, those before results stated them
  explicit Defaults(const Json& context);

  /// An axis that these lack, since they are older, has the default that the others state.
  void complete(const Defaults& others);

  /// "depth of bandwidth is 128 there and 64 here": of axes that both have.
  std::vector<std::string> differences(const Defaults& here) const;

  /// Is the value of this axis the default? Where that is "auto", which a row does not tell, what
  /// it comes to nearly everywhere is.
  /// @param row  any row that has the axis: some defaults are of a kind of test
  bool has(const Row& row, const std::string& key, const Json& value) const;
  bool has(Kind kind, const std::string& key, const Json& value) const;

  /// The identity of what was measured: equal for two rows of one case. It names the test and each
  /// axis that is not at its default, so that a file which is older than an axis has the cases that
  /// have it at its default. An axis whose default depends on the kind of test (--depth) is always
  /// named: a row does not say of which kind its test is.
  /// @param own  of the case's file, which count for axes that the case lacks; null: they are alike
  std::string identity(const std::string& test, const nlohmann::json& case_object,
                       const Defaults* own = nullptr) const;

  /// The defaults in the form of context.rdmameter.defaults.
  const Json& stated() const { return stated_; }

 private:
  void index();
  const nlohmann::json& of(Kind kind) const { return of_[static_cast<std::size_t>(kind)]; }
  const nlohmann::json* find(Kind kind, const std::string& key) const;

  Json stated_;
  std::array<nlohmann::json, 4> of_;  ///< by Kind, all axes each, sorted to be found quickly
};

}  // namespace rdmameter
