// SPDX-License-Identifier: Apache-2.0
#include "topologies/graphs/shape_text.h"

#include "core/base/parse_value.h"

namespace rdmameter {

std::optional<NameAndNumbers> split_shape(std::string_view text) {
  const auto colon = text.find(':');
  NameAndNumbers name_and_numbers{.name = text.substr(0, colon), .numbers = {}};
  if (name_and_numbers.name.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return name_and_numbers;
  for (std::string_view rest = text.substr(colon + 1);;) {
    const auto x = rest.find('x');
    const auto number = parse_count(rest.substr(0, x));
    if (!number) return std::nullopt;
    name_and_numbers.numbers.push_back(*number);
    if (x == std::string_view::npos) return name_and_numbers;
    rest.remove_prefix(x + 1);
  }
}

}  // namespace rdmameter
