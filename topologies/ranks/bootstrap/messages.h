// SPDX-License-Identifier: Apache-2.0
// Messages that ranks pass on for each other, several in one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topologies/graphs/graph.h"

namespace rdmameter {

struct RankMessage {
  Rank from = 0, to = 0;
  std::string text;
  bool operator==(const RankMessage&) const = default;
};

std::string pack(const std::vector<RankMessage>& messages);
/// @param ranks  each message is from and to one of so many
/// @throws MeasurementError  this is not what pack() has made
std::vector<RankMessage> unpack(std::string_view packed, Rank ranks);

}  // namespace rdmameter
