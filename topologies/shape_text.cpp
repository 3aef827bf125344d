// SPDX-License-Identifier: Apache-2.0
#include "topologies/shape_text.h"

#include "core/parse_value.h"

namespace rdmameter {

std::optional<NameAndNumbers> split_shape(std::string_view text) {
  const auto colon = text.find(':');
  NameAndNumbers made{.name = text.substr(0, colon), .numbers = {}};
  if (made.name.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return made;
  for (std::string_view rest = text.substr(colon + 1);;) {
    const auto x = rest.find('x');
    const auto number = parse_count(rest.substr(0, x));
    if (!number) return std::nullopt;
    made.numbers.push_back(*number);
    if (x == std::string_view::npos) return made;
    rest.remove_prefix(x + 1);
  }
}

}  // namespace rdmameter
