// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace rdmameter {
namespace {

/// Edits from a to b: the "optimal string alignment" distance.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view typed, std::span<const std::string_view> known) {
  typed = typed.substr(0, 64);  // the cost is quadratic, and no word of ours is as long
  std::string_view best;
  std::size_t min = std::numeric_limits<std::size_t>::max();
  for (const std::string_view word : known) {
    const std::size_t distance = edits(typed, word);
    if (distance >= min || 2 * distance > std::max(typed.size(), word.size())) continue;
    best = word;
    min = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known,
                         std::string_view prefix) {
  const std::string_view word = nearest(typed, known);
  return word.empty() ? "" : fmt::format("; did you mean '{}{}'?", prefix, word);
}

std::vector<ShellWord> split_words(std::string_view text) {
  std::vector<ShellWord> words;
  std::optional<ShellWord> word;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\0' && (c == ' ' || c == '\t')) {
      if (word) words.push_back(*std::exchange(word, {}));
      continue;
    }
    if (!word) word = ShellWord{.begin = i, .end = i, .text = {}};
    if (quote != '\0' ? c == quote : c == '\'' || c == '"')
      quote = quote == '\0' ? c : '\0';
    else
      word->text += c == '\\' && quote != '\'' && i + 1 < text.size() ? text[++i] : c;
    word->end = i + 1;
  }
  if (word) words.push_back(*word);
  if (quote != '\0') words.back().open_quote = quote;
  return words;
}

}  // namespace rdmameter
