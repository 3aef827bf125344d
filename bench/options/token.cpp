// SPDX-License-Identifier: Apache-2.0
#include "bench/options/token.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "bench/cases/words.h"
#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/base/printable.h"
#include "core/wire/auth.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxTokenFileBytes = 4096;  ///< far beyond a line that holds a token

std::string first_line(const std::string& file) {
  const std::string name = "--token-file " + file;
  const std::string text = read_input(
      file, {.name = name, .max_bytes = kMaxTokenFileBytes, .beginning = true, .secret = true});
  if (text.empty()) throw UsageError(name + ": it is empty");
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string read_token(const std::string& file) {
  const char* variable = std::getenv(kTokenVariable);
  if (file.empty() && variable == nullptr) return {};
  const std::string token = file.empty() ? variable : first_line(file);
  const std::string origin = file.empty() ? kTokenVariable : "--token-file " + file;
  if (const std::string why = why_bad_token(token); !why.empty())
    throw UsageError(origin + ": " + why);
  return token;
}

std::string without_token(std::string_view argument) {
  const std::string assignment = std::string(kTokenVariable) + "=";
  std::string shown;
  std::size_t done = 0;
  for (const ShellWord& word : split_words(argument)) {
    const std::size_t at = word.text.find(assignment);
    if (at == word.text.npos) continue;
    shown += argument.substr(done, word.begin - done);
    shown += word.text.substr(0, at) + assignment + "***";
    done = word.end;
  }
  return shown.append(argument.substr(done));
}

std::string quoted_text(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result;
}

std::string shell_text(const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& typed : arguments) {
    const std::string argument = without_token(typed);
    const bool plain = !argument.empty() && std::ranges::all_of(argument, [](char c) {
      return is_word_character(c, "-_./:,=@%+");
    });
    add_item(text, plain ? argument : "'" + quoted_text(argument) + "'", " ");
  }
  return text;
}

void hide_token(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) {
    const std::string shown = without_token(argv[i]);
    const std::size_t room = std::strlen(argv[i]);
    if (shown == argv[i]) continue;
    std::memset(argv[i], 0, room);
    std::memcpy(argv[i], shown.data(), std::min(room, shown.size()));
  }
}

}  // namespace rdmameter
