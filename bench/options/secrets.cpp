// SPDX-License-Identifier: Apache-2.0
#include "bench/options/secrets.h"

#include <algorithm>
#include <cstring>

#include "bench/options/token.h"
#include "bench/options/words.h"

namespace rdmameter {

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
