// SPDX-License-Identifier: Apache-2.0
#include "topologies/schedule/barrier_meetings.h"

#include <algorithm>
#include <bit>

#include "core/base/error.h"

namespace rdmameter {
namespace {

/// Of all ranks, from rank 0 on.
struct BarrierTree {
  std::vector<Rank> parents;
  std::vector<std::vector<Rank>> children;

  /// Of the steps of a rank the one up to, or down from, its parent.
  std::uint32_t with_parent(Rank rank, bool down) const {
    return static_cast<std::uint32_t>(children[rank].size()) + (down ? 1 : 0);
  }
  /// ...and that with one of its children.
  std::uint32_t with_child(Rank rank, Rank child, bool down) const {
    const auto place = static_cast<std::uint32_t>(place_of(children[rank], child));
    return down ? with_parent(rank, false) + (rank == 0 ? 0 : 2) + place : place;
  }
};

BarrierTree tree_without(Rank ranks, const RankPairs& avoided) {
  BarrierTree tree{.parents = std::vector<Rank>(ranks, ranks),
                   .children = std::vector<std::vector<Rank>>(ranks)};
  std::vector<Rank> reached{0};
  for (std::size_t i = 0; i < reached.size(); ++i)
    for (Rank child = 1; child < ranks; ++child) {
      const Rank parent = reached[i];
      if (child == parent || tree.parents[child] != ranks || holds(avoided, parent, child))
        continue;
      tree.parents[child] = parent;
      tree.children[parent].push_back(child);
      reached.push_back(child);
    }
  for (Rank rank = 1; rank < ranks; ++rank)
    if (tree.parents[rank] == ranks)
      throw MeasurementError(
          "no messages get through to rank {}: its barrier has failed with the others", rank);
  return tree;
}

/// Each step is a meeting of two ranks, which tell each other.
std::vector<BarrierMeeting> tree_meetings(Rank rank, const BarrierTree& tree) {
  std::vector<BarrierMeeting> meetings;
  const auto meet_children = [&](bool down) {
    for (const Rank child : tree.children[rank])
      meetings.push_back({child, child, tree.with_parent(child, down)});
  };
  meet_children(false);
  if (rank != 0)
    for (const bool down : {false, true}) {
      const Rank parent = tree.parents[rank];
      meetings.push_back({parent, parent, tree.with_child(parent, rank, down)});
    }
  meet_children(true);
  return meetings;
}

std::vector<BarrierMeeting> dissemination(Rank rank, Rank ranks) {
  std::vector<BarrierMeeting> meetings;
  for (Rank distance = 1; distance < ranks; distance *= 2)
    meetings.push_back({(rank + distance) % ranks, (rank + ranks - distance) % ranks,
                        static_cast<std::uint32_t>(meetings.size())});
  return meetings;
}

bool dissemination_needs_any(Rank ranks, const RankPairs& pairs) {
  return std::ranges::any_of(pairs, [ranks](const auto& pair) {
    const Rank between = pair.second - pair.first;
    return pair.second < ranks &&
           (std::has_single_bit(between) || std::has_single_bit(ranks - between));
  });
}

}  // namespace

std::vector<BarrierMeeting> barrier_meetings(Rank rank, Rank ranks, const RankPairs& avoided) {
  if (!dissemination_needs_any(ranks, avoided)) return dissemination(rank, ranks);
  return tree_meetings(rank, tree_without(ranks, avoided));
}

std::vector<Rank> barrier_partners(const std::vector<BarrierMeeting>& meetings) {
  std::set<Rank> partners;
  for (const BarrierMeeting& meeting : meetings) partners.insert({meeting.ahead, meeting.behind});
  return {partners.begin(), partners.end()};
}

}  // namespace rdmameter
