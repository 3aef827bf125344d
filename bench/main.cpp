// SPDX-License-Identifier: Apache-2.0
// The program: subcommands, and the one place where failures become exit statuses.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "bench/arguments.h"
#include "bench/benchmark_flags.h"
#include "bench/command.h"
#include "bench/help_text.h"
#include "bench/signals.h"
#include "core/error.h"

namespace rdmameter {
namespace {

struct Subcommand {
  const char* name;
  const char* usage;
  const char* summary;
  Action (*declare)(CLI::App&);
};

constexpr std::array kSubcommands{
    Subcommand{"devices", "devices [--json]", "Print the devices, ports and GIDs that are here.",
               declare_devices},
    Subcommand{"serve", "serve [--bind ADDRESS] [--port N]",
               "Be the responder of what others measure.", declare_serve},
    Subcommand{"run", "run [HOST | --loopback] TEST... [axes] [-o FILE]",
               "Measure tests, over sizes and other axes.", declare_run},
    Subcommand{"topo", "topo GRAPH... [--ranks N] [axes] [-o FILE]",
               "Measure ranks, connected in several shapes.", declare_topo},
    Subcommand{"show", "show FILE... [--percentiles | --csv]",
               "Print results as tables and histograms.", declare_show},
    Subcommand{"compare", "compare BASE NEW [--gate GATE]... [--markdown FILE]",
               "Say whether NEW is worse than BASE.", declare_compare},
    Subcommand{"ab", "ab [--a SIDE] [--b SIDE | --aa] [-o FILE] -- RUN...",
               "Measure two sides in turns, and compare them.", declare_ab},
    Subcommand{"merge", "merge FILE... -o FILE", "Put several runs into one result.",
               declare_merge},
    Subcommand{"report", "report FILE... -o report.html",
               "Write results as one page with charts and tables.", declare_report},
    Subcommand{"history", "history add FILE... --into PATH | show PATH | check PATH",
               "Keep results over time, and find what changed.", declare_history},
    Subcommand{"export", "export FILE... --format NAME [-o FILE]",
               "Write results in the formats of other tools.", declare_export},
};

/// Says how to call a subcommand in our words: CLI11 cannot tell HOST from TEST.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kHelpColumn); }

  std::string make_usage(const CLI::App* app, std::string) const override {
    // Of 'history add' the whole of 'history' is shown.
    const bool nested = app->get_parent() != nullptr && app->get_parent()->get_parent() != nullptr;
    const std::string name = nested ? app->get_parent()->get_name() : app->get_name();
    for (const Subcommand& subcommand : kSubcommands)
      if (name == subcommand.name) return fmt::format("Usage: rdmameter {}\n", subcommand.usage);
    return "Usage: rdmameter SUBCOMMAND ...\n";
  }
};

/// An App with every subcommand, and what each will do.
struct CommandLine {
  CLI::App app{"Measures latency and bandwidth of RDMA verbs."};
  std::array<std::pair<CLI::App*, Action>, kSubcommands.size()> actions;

  CommandLine() {
    app.name("rdmameter");
    app.set_version_flag("--version", "rdmameter " RDMAMETER_VERSION);
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(
        "'rdmameter SUBCOMMAND --help' says more, with examples.\n\n"
        "Exit status: 0 pass, 1 regression, 2 usage or nothing to measure,\n"
        "3 inconclusive, 77 no device, 99 a measurement failed, 130 interrupted.");
    for (std::size_t i = 0; i < kSubcommands.size(); ++i) {
      CLI::App* sub = app.add_subcommand(kSubcommands[i].name, kSubcommands[i].summary);
      sub->allow_extras();  // reported by us, with the nearest option
      actions[i] = {sub, kSubcommands[i].declare(*sub)};
    }
    app.allow_extras();
  }
};

ExitStatus run_program(std::vector<std::string> arguments) {
  static InterruptSource interrupt;  // outlives the signal handlers
  raise_on_signals(interrupt);
  Invocation invocation{
      shell_text(arguments), {arguments.begin() + 1, arguments.end()}, {}, interrupt};
  arguments.erase(arguments.begin());
  invocation.benchmark_arguments = take_benchmark_arguments(arguments);

  CommandLine command_line;
  if (!parse(command_line.app, arguments)) return ExitStatus::pass;  // --help, --version
  for (const auto& [sub, action] : command_line.actions)
    if (sub->parsed()) {
      if (!invocation.benchmark_arguments.empty() && sub->get_name() != "run" &&
          sub->get_name() != "ab")
        throw UsageError("--benchmark_* arguments go with 'rdmameter run' and 'rdmameter ab'");
      return action(invocation);
    }
  throw UsageError("say what to do:\n\n" + command_line.app.help());
}

/// What has been printed has arrived, or the run has failed (a full disk, a closed pipe).
ExitStatus flush_stdout(ExitStatus status) {
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (arrived || status != ExitStatus::pass) return status;
  fmt::print(stderr, "rdmameter: stdout cannot be written\n");
  return ExitStatus::failed;
}

}  // namespace
}  // namespace rdmameter

int main(int argc, char** argv) {
  using namespace rdmameter;
  try {
    return static_cast<int>(flush_stdout(run_program({argv, argv + argc})));
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "rdmameter: {}\n", error.what());
    return static_cast<int>(status_of(std::current_exception()));
  }
}
