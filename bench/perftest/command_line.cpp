// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/command_line.h"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "bench/cases/words.h"
#include "bench/perftest/option_table.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/test_case/test_case.h"

namespace rdmameter {
namespace {

using OptionFate = PerftestOption::Fate;

/// getopt_long() returns this plus the index of the entry; of an alias, that of what it names.
constexpr int kRowBase = 0x1000;

/// The table as getopt_long() wants it. The leading ':' tells a missing value from
/// an unknown option.
struct GetoptTable {
  std::string letters = ":";
  std::vector<option> names;

  GetoptTable() {
    for (const PerftestOption& row : perftest_options()) {
      const bool takes = !row.value.empty();
      const bool alias = row.fate == OptionFate::alias;
      const PerftestOption& named = alias ? perftest_option(row.becomes) : row;
      names.push_back({row.name.data(), takes ? required_argument : no_argument, nullptr,
                       kRowBase + static_cast<int>(&named - perftest_options().data())});
      if (row.letter == 0) continue;
      letters += row.letter;
      if (takes) letters += ':';
    }
    names.push_back({});
  }
};

const PerftestOption* option_of(int code) {
  if (code >= kRowBase) return &perftest_options()[static_cast<std::size_t>(code - kRowBase)];
  for (const PerftestOption& row : perftest_options())
    if (row.letter == code) return &row;  // an alias has no letter
  return nullptr;
}

/// @param typed  what getopt_long() knows no option for, or several
[[noreturn]] void refuse_unknown(const PerftestTool& tool, const std::string& typed) {
  const std::string name = typed.substr(0, typed.find('='));
  std::vector<std::string> known;
  for (const PerftestOption& row : perftest_options())
    known.push_back(fmt::format("--{}", row.name));
  const bool is_long = name.starts_with("--");
  const auto begins = [&](const std::string& option) { return option.starts_with(name); };
  if (is_long && std::ranges::any_of(known, begins))
    throw UsageError(
        "{}: '{}' is short for several options: write it in full ('{} --help' lists the options)",
        tool.name, name, tool.name);
  const std::vector<std::string_view> views(known.begin(), known.end());
  throw UsageError("{} has no option '{}'{} ('{} --help' lists the options)", tool.name, name,
                   is_long ? did_you_mean(name, views) : "", tool.name);
}

void check_fate(const PerftestTool& tool, const PerftestOption& option) {
  if (option.fate == OptionFate::refused) throw UsageError("{}: {}", option.text(), option.becomes);
  if (!option.applies(tool))
    throw UsageError("{}: {} has no such option ('{} --help' lists its options)", option.text(),
                     tool.name, tool.name);
}

}  // namespace

std::optional<std::string> PerftestCommand::value(std::string_view option) const {
  const auto found = given.find(option);
  return found == given.end() ? std::nullopt : std::optional(found->second);
}

PerftestCommand read_perftest_command(const PerftestTool& tool,
                                      const std::vector<std::string>& arguments) {
  static const GetoptTable table;
  std::vector<std::string> words{std::string(tool.name)};  // getopt_long() reorders pointers only
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int argc = static_cast<int>(words.size());

  PerftestCommand command{.tool = &tool};
  optind = 0;  // glibc: begin anew
  opterr = 0;
  for (int code = 0; (code = getopt_long(argc, argv.data(), table.letters.c_str(),
                                         table.names.data(), nullptr)) != -1;) {
    const bool is_short = (code == '?' || code == ':') && optopt > 0 && optopt < kRowBase;
    const std::string typed = is_short ? fmt::format("-{}", static_cast<char>(optopt))
                                       : std::string(argv[static_cast<std::size_t>(optind) - 1]);
    if (code == ':' || (code == '?' && optopt >= kRowBase)) {
      const PerftestOption* row = option_of(optopt);
      throw UsageError("{}: {}", row == nullptr ? typed : row->text(),
                       code == ':' ? "its value is missing" : "it takes no value");
    }
    if (code == '?') refuse_unknown(tool, typed);
    const PerftestOption& option = *option_of(code);
    check_fate(tool, option);
    // The last one wins: wrappers append theirs.
    command.given[option.name] = optarg == nullptr ? "" : optarg;
  }
  if (optind < argc) command.host = argv[static_cast<std::size_t>(optind++)];
  if (optind < argc)
    throw UsageError("{}: one host at most, not '{}' and '{}'", tool.name, command.host,
                     argv[static_cast<std::size_t>(optind)]);
  return command;
}

std::string decimal_text(const std::string& typed) {
  if (!typed.starts_with("0x") && !typed.starts_with("0X")) return typed;
  const auto value = parse_count(std::string_view(typed).substr(2), 16);
  return value ? std::to_string(*value) : typed;
}

namespace {

/// What an option and its value are together, and what is said to do without one; before all else.
constexpr std::pair<std::string_view, std::string_view> kPhrases[]{
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
    {"within --loss-timeout: is it shorter than the round trip? Else", kWithinThat},
    {"--bind ", ""},
    {"--port (0: any free one)", "-p"},
};

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
  const PerftestOption* const option = option_of_axis(word);
  if (option == nullptr) return fmt::format("`rdmameter run --{}`", word);
  return option->letter == 0 ? "--" + std::string(option->name)
                             : fmt::format("-{}", option->letter);
}

/// "-s, --size" names perftest's own.
bool follows_a_letter(std::string_view before) {
  return before.size() >= 4 && before.ends_with(", ") && before[before.size() - 4] == '-';
}

bool in_word(char c) {
  return is_word_character(c, "-_");
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
