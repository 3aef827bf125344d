// SPDX-License-Identifier: Apache-2.0
// What a handful of replicates says by itself: its middle and its spread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace rdmameter {

/// A number that may not be known.
using Number = std::optional<double>;

/// The middle value, or the mean of the two in the middle. @param values  not empty
double median(std::vector<double> values);

Number known_median(const std::vector<double>& values);  ///< of none: nothing

/// @param values  not empty
double mean(std::span<const double> values);

/// The sum of their squared distances from it.
double squares_around(std::span<const double> values, double centre);

/// Natural logarithms, in which ratios become differences. @param values  each above 0
std::vector<double> logarithms(std::span<const double> values);

/// What a member or a function says of each element.
auto mapped(const auto& list, const auto& of) {
  std::vector<std::decay_t<decltype(std::invoke(of, *std::begin(list)))>> all;
  for (const auto& one : list) all.push_back(std::invoke(of, one));
  return all;
}

/// Those elements of which a member or a function says so.
auto filtered(const auto& list, const auto& holds) {
  std::vector<std::decay_t<decltype(*std::begin(list))>> chosen;
  std::ranges::copy_if(list, std::back_inserter(chosen), holds);
  return chosen;
}

/// 0 to count - 1, ascending by key(index); what is equal stays in order.
std::vector<std::size_t> order_by(std::size_t count, const auto& key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, key);
  return order;
}

/// The standard deviation of a normal distribution, by its median absolute deviation.
inline constexpr double kMadOfNormal = 1.4826;

/// The standard deviation of a sample (divided by n - 1); 0 for fewer than two values.
double standard_deviation(std::span<const double> values);

}  // namespace rdmameter
