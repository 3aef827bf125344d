// SPDX-License-Identifier: Apache-2.0
// Collectives among ranks, as pure data: which words a rank sends and receives in each of its
// steps, and what it must hold in the end. A word has 32 bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "topologies/graphs/graph.h"

namespace rdmameter {

inline constexpr std::uint64_t kWordBytes = 4;

/// The purpose of a collective, independent of its algorithm. `words` of a collective are those of
/// a block where each rank has its own (allgather, alltoall), else those of the whole.
enum class CollectiveKind {
  allreduce,  ///< every rank gets the sum of all, modulo 2^32
  alltoall,   ///< every rank gets a block from each
  allgather,  ///< every rank gets the block of each
  broadcast,  ///< every rank gets what rank 0 has
  barrier,    ///< no rank goes on before all have come; a message has one word
};

/// Words in a rank's memory.
struct WordRange {
  std::uint64_t begin = 0, count = 0;
  bool operator==(const WordRange&) const = default;
};

std::uint64_t words_in(const std::vector<WordRange>& ranges);

struct WordMove {
  std::uint64_t from = 0, to = 0, count = 0;
};

struct SentWords {
  Rank to = 0;
  std::vector<WordRange> words;  ///< in this order
};

struct ReceivedWords {
  Rank from = 0;
  std::vector<WordRange> words;  ///< where they are put, in the order in which they were sent
  /// They are added to the words from here on, and the sums are put; nothing: they are put as they
  /// are. One range then.
  std::optional<std::uint64_t> added_to = {};
};

/// The next step begins when what this one receives has been put. A message of one rank to another
/// belongs to the next of its steps that receive from there.
struct CollectiveStep {
  std::optional<SentWords> send = {};
  std::optional<ReceivedWords> receive = {};
};

/// The steps of one rank.
struct RankSchedule {
  std::uint64_t memory_words = 0;
  WordRange input, result;           ///< where the rank's own words are before; what it has then
  std::vector<WordMove> moves = {};  ///< within its memory, before the first step
  std::vector<CollectiveStep> steps = {};
};

/// A collective by one algorithm, all that the program knows of it. Adding one: a file with this
/// entry, and its name in collective.cpp.
struct Collective {
  std::string_view name;
  std::string_view description;
  CollectiveKind kind;
  /// @pre words > 0: add_step() leaves out messages of none
  Required<RankSchedule(Rank rank, Rank ranks, std::uint64_t words)> make;
  bool to_all = false;  ///< every rank sends to every other
  /// All further receivers of a rank's messages, each once; null: those of the steps of one word,
  /// which are few.
  std::vector<Rank> (*receivers)(Rank rank, Rank ranks) = nullptr;
};

std::span<const Collective* const> collectives();

/// The words of so many bytes, as nccl-tests counts them (docs/topologies-reference.md);
/// 0: too few.
std::uint64_t words_of_size(CollectiveKind kind, Rank ranks, std::uint64_t size_bytes);
/// The least size of which words_of_size() makes anything.
std::uint64_t least_size(CollectiveKind kind, Rank ranks);
/// The size again, of that many words; 0: a barrier.
std::uint64_t bytes_of_words(CollectiveKind kind, Rank ranks, std::uint64_t words);

/// nccl-tests' bus bandwidth / algorithm bandwidth.
double bus_factor(CollectiveKind kind, Rank ranks);

/// @param at  from the begin of RankSchedule::input
using InputWord = std::function<std::uint32_t(Rank rank, std::uint64_t at)>;

/// The words that RankSchedule::result must hold, if each rank began with such words.
std::vector<std::uint32_t> expected_result(const Collective& collective, Rank rank, Rank ranks,
                                           std::uint64_t words, const InputWord& input);

/// The totals of all ranks together.
struct CollectiveTotals {
  struct FlowMessages {
    Rank from, to;
    std::uint64_t messages;
  };
  std::vector<FlowMessages> flows;  ///< by source and destination, ascending
  std::uint64_t messages = 0, words = 0;
  std::uint64_t largest_words = 0;  ///< of a message
  /// On the longest way from the first send to the last arrival: messages, and words, of which each
  /// begins when that before it has arrived, and when its rank has sent the one before it.
  std::uint64_t steps = 0, step_words = 0;
};

CollectiveTotals collective_totals(const Collective& collective, Rank ranks, std::uint64_t words);

/// The receivers of a rank's messages, each once.
std::vector<Rank> collective_receivers(const Collective& collective, Rank rank, Rank ranks);

// For schedules.

/// Begins a rank's schedule of an alltoall, without its steps: behind the blocks that a rank sends
/// are those that it receives, each in the order of the ranks. Its own block is moved there.
RankSchedule begin_alltoall(Rank rank, Rank ranks, std::uint64_t words);

/// Adds a step that exchanges these; a message of no words is none.
void add_step(RankSchedule& schedule, SentWords sent, ReceivedWords received = {});

}  // namespace rdmameter
