// SPDX-License-Identifier: Apache-2.0
#include "bench/options/words.h"

#include <optional>
#include <utility>

namespace rdmameter {

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
