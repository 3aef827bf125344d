// SPDX-License-Identifier: Apache-2.0
// rdmameter generate: the man page and the completion of shells, as the build installs them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "bench/generate/command_tree.h"
#include "bench/options/command.h"
#include "bench/perftest/tool.h"
#include "core/base/error.h"
#include "core/base/lists.h"
#include "core/log/print.h"
#include "core/test_case/catalog.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

struct Product {
  std::string_view name;
  std::string (*text)(const std::vector<CommandEntry>& commands);
};
constexpr std::array kProducts{Product{"man", man_page}, Product{"bash", bash_completion},
                               Product{"zsh", zsh_completion}, Product{"fish", fish_completion}};

std::string names_of(const auto& list, const auto& name) {
  return fmt::format("{}", fmt::join(mapped(list, name), " "));
}

/// What stands in a command line where no option is, as far as we know the words.
std::string known_words(const std::string& command) {
  if (command == "run") return "all " + names_of(catalog(), &Test::name);
  if (command == "topo") return names_of(shapes(), &Shape::name);
  if (command == "perftest") return names_of(perftest_tools(), &PerftestTool::name);
  if (command == "generate") return names_of(kProducts, &Product::name);
  return "";
}

ExitStatus generate(const CLI::App& program, const std::string& what) {
  const auto* const product = std::ranges::find(kProducts, what, &Product::name);
  if (product == kProducts.end()) throw UsageError("generate: say what: man, bash, zsh or fish");
  std::vector<CommandEntry> commands = command_tree(program);
  for (CommandEntry& command : commands) command.words = known_words(command.name);
  print_text(product->text(commands));
  return ExitStatus::pass;
}

}  // namespace

Action declare_generate(CLI::App& app) {
  const auto what = std::make_shared<std::string>();
  add_option(app, "WHAT", *what, "",
             "man: the man page; bash, zsh, fish: completion for this shell");
  app.footer(
      "Examples:\n"
      "  rdmameter generate man > rdmameter.1 && man ./rdmameter.1\n"
      "  source <(rdmameter generate bash)     # zsh likewise, after compinit");
  return [&app, what](const Invocation&) { return generate(*app.get_parent(), *what); };
}

}  // namespace rdmameter
