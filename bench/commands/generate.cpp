// SPDX-License-Identifier: Apache-2.0
// rdmameter generate: the man page and the completion of shells, as the build installs them.
#include <fmt/format.h>

#include <memory>

#include "bench/generate/command_tree.h"
#include "bench/options/command.h"
#include "bench/perftest/tool.h"
#include "core/base/error.h"
#include "core/log/print.h"
#include "core/test_case/catalog.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

/// What stands in a command line where no option is, as far as we know the words.
std::vector<std::string> known_words(const std::string& command) {
  std::vector<std::string> words;
  if (command == "run") {
    words.emplace_back("all");
    for (const Test& test : catalog()) words.emplace_back(test.name);
  } else if (command == "topo") {
    for (const Shape* shape : shapes()) words.emplace_back(shape->name);
  } else if (command == "perftest") {
    for (const PerftestTool& tool : perftest_tools()) words.emplace_back(tool.name);
  } else if (command == "generate") {
    words = {"man", "bash", "zsh", "fish"};
  }
  return words;
}

ExitStatus generate(const CLI::App& program, const std::string& what) {
  std::vector<CommandEntry> commands = command_tree(program);
  for (CommandEntry& command : commands) command.words = known_words(command.name());
  if (what == "man")
    print_text(man_page(commands, RDMAMETER_VERSION));
  else if (what == "bash")
    print_text(bash_completion(commands));
  else if (what == "zsh")
    print_text(zsh_completion(commands));
  else if (what == "fish")
    print_text(fish_completion(commands));
  else
    throw UsageError("generate: say what: man, bash, zsh or fish");
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
