// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/ab_variant.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "bench/cases/words.h"
#include "bench/options/token.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

std::vector<std::string> words_of(const Variant& side, const std::string& text) {
  const std::vector<ShellWord> words = split_words(text);
  if (!words.empty() && words.back().open_quote != '\0')
    throw UsageError("--{} {}: the quote {} is never closed", side.letter, side.text,
                     words.back().open_quote);
  return mapped(words, &ShellWord::text);
}

bool is_assignment(const std::string& word) {
  const std::string_view name = std::string_view(word).substr(0, word.find('='));
  return name.size() < word.size() && !name.empty() &&
         std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::all_of(name, [](char c) { return is_word_character(c, "_"); });
}

std::string this_program() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink(kThisProgram, error);
  return error ? kThisProgram : path;
}

/// "-oFILE" and "--output=FILE" are the option, too.
bool is_option(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return false;
  return word == name || !name.starts_with("--") || word[name.size()] == '=';
}

}  // namespace

std::vector<std::string> Variant::command(const std::vector<std::string>& common,
                                          const std::vector<std::string>& more) const {
  std::vector<std::string> words{program, "run"};
  for (const auto* part : {&common, &options, &more})
    words.insert(words.end(), part->begin(), part->end());
  return words;
}

void refuse_own_options(std::string_view command, const std::vector<std::string>& common,
                        std::initializer_list<OwnOption> own) {
  for (const std::string& word : common)
    for (const auto& [names, remedy] : own)
      for (const std::string_view name : split(names, ","))
        if (is_option(word, name))
          throw UsageError("{}: {} cannot stand after --: {}", command, name, remedy);
}

Variant read_side(const std::string& letter, const std::string& text) {
  Variant side{.letter = letter, .text = without_token(text)};
  std::vector<std::string> words = words_of(side, text);
  auto word = words.begin();
  for (; word != words.end() && is_assignment(*word); ++word) {
    const auto equals = word->find('=');
    side.variables.emplace_back(word->substr(0, equals), word->substr(equals + 1));
  }
  const bool named =
      word != words.end() && !word->starts_with('-') && word->find('/') != word->npos;
  side.program = named ? *word++ : this_program();
  if (access(side.program.c_str(), X_OK) != 0)
    throw UsageError("--{} {}: {} cannot be executed: {}", letter, side.text, side.program,
                     std::strerror(errno));
  side.options.assign(word, words.end());
  return side;
}

}  // namespace rdmameter
