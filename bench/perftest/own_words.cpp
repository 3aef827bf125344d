// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/own_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "bench/perftest/option_table.h"
#include "core/test_case/test_case.h"

namespace rdmameter {
namespace {

/// What an option and its value are together, and what is said to do without one; before all else.
constexpr std::array<std::pair<std::string_view, std::string_view>, 23> kPhrases{{
    {"--inline off", "-I 0"},
    {" or --inline max", " or less"},
    {"use --inline", "use -I"},
    {"--api classic", "--use_old_post_send"},
    {"use --connect cm", "use -R"},
    {"use --connect tcp", "leave out -R"},
    {", or --connect tcp", ", or without -R"},
    {"use --recv rq", "leave out --use-srq"},
    {"--transport rc", "-c RC"},
    {"--transport uc", "-c UC"},
    {"--transport ud", "-c UD"},
    {"use another --wait", "leave out -e"},
    {"another --wait", "no -e"},
    {"--wait event", "-e"},
    {"--bidirectional off", "no -b"},
    {"use --thread-domain auto, or --thread-domain off", "leave out --no_lock"},
    {"there is nothing to --verify", "leave out --data_validation"},
    {"--gpu-registration data-direct", "--use_data_direct"},
    {"use --gpu-registration auto",
     "leave out --use_data_direct, --use_cuda_dmabuf and --use_rocm_dmabuf"},
    {"--memory host", "memory of the host"},
    {"--recv srq", "--use-srq"},
    {"--bind ", ""},
    {"--port (0: any free one)", "-p"},
}};

std::string short_form(const PerftestOption& option) {
  return option.letter == 0 ? fmt::format("--{}", option.name) : fmt::format("-{}", option.letter);
}

/// perftest's option of the same name; or that is our axis, whatever its value, or switches it on.
const PerftestOption* option_of_axis(std::string_view axis) {
  const std::string whole = fmt::format("`--{}`", axis), on = fmt::format("`--{} on`", axis);
  auto found = std::ranges::find(perftest_options(), axis, &PerftestOption::name);
  if (found == perftest_options().end())
    found = std::ranges::find_if(perftest_options(), [&](const PerftestOption& option) {
      return (option.fate == PerftestOption::Fate::axis && option.becomes == axis) ||
             option.becomes.starts_with(whole) || option.becomes.starts_with(on);
    });
  return found == perftest_options().end() ? nullptr : &*found;
}

/// @param word  "port-num"
/// @return nothing: it is no axis
std::optional<std::string> word_of_perftest(std::string_view word) {
  constexpr std::string_view kPeer = "peer-";
  if (word.starts_with(kPeer)) {
    const auto own = word_of_perftest(word.substr(kPeer.size()));
    return own ? std::optional(*own + " of the other end") : std::nullopt;
  }
  if (find_axis(word) == nullptr) return std::nullopt;
  if (const PerftestOption* option = option_of_axis(word)) return short_form(*option);
  return fmt::format("`rdmameter run --{}`", word);
}

/// "-s, --size" names perftest's own.
bool follows_a_letter(std::string_view before) {
  return before.size() >= 4 && before.ends_with(", ") && before[before.size() - 4] == '-';
}

bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

}  // namespace

std::string in_words_of_perftest(std::string_view message) {
  std::string text(message);
  for (const auto& [from, to] : kPhrases) replace_all(text, from, to);
  std::string said;
  // A command or an option that is quoted stays as it is, as do the other end's own words.
  bool quoted = false;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '`' || text[at] == '"') quoted = !quoted;
    const bool begins = !quoted && text.compare(at, 2, "--") == 0 &&
                        (at == 0 || (!in_word(text[at - 1]) && text[at - 1] != '\'')) &&
                        !follows_a_letter(said);
    std::size_t end = at + 2;
    while (begins && end < text.size() && in_word(text[end])) ++end;
    const auto word = begins ? word_of_perftest(std::string_view(text).substr(at + 2, end - at - 2))
                             : std::nullopt;
    said += word ? *word : std::string(1, text[at]);
    at = word ? end : at + 1;
  }
  return said;
}

}  // namespace rdmameter
