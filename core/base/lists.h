// SPDX-License-Identifier: Apache-2.0
// Lists made of other lists, and their middle.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <vector>

namespace rdmameter {

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

/// Unless the list has it. @return  was it added?
template <class T>
bool add_once(std::vector<T>& list, const std::type_identity_t<T>& one) {
  const bool is_new = std::ranges::find(list, one) == list.end();
  if (is_new) list.push_back(one);
  return is_new;
}

/// 0 to count - 1, ascending by key(index); what is equal stays in order.
std::vector<std::size_t> order_by(std::size_t count, const auto& key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, key);
  return order;
}

/// The middle value, or the mean of the two in the middle. @param values  not empty
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

}  // namespace rdmameter
