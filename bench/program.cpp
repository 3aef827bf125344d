// SPDX-License-Identifier: Apache-2.0
// The program: subcommands, and the one place where failures become exit statuses.
#include "bench/program.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "bench/commands/perftest.h"
#include "bench/options/arguments.h"
#include "bench/options/command.h"
#include "bench/options/token.h"
#include "bench/perftest/option_table.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/process.h"
#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/printable.h"
#include "core/log/print.h"
#include "core/server/session_process.h"
#include "core/session/protocol.h"
#include "core/wire/wait.h"
#include "reports/text/terminal_lines.h"

namespace rdmameter {

// Each in its own file in bench/commands/.
Action declare_ab(CLI::App&), declare_check(CLI::App&), declare_ci(CLI::App&),
    declare_compare(CLI::App&), declare_devices(CLI::App&), declare_doctor(CLI::App&),
    declare_export(CLI::App&), declare_generate(CLI::App&), declare_history(CLI::App&),
    declare_merge(CLI::App&), declare_perftest(CLI::App&), declare_report(CLI::App&),
    declare_run(CLI::App&), declare_serve(CLI::App&), declare_show(CLI::App&),
    declare_topo(CLI::App&);

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
    Subcommand{"doctor", "doctor [HOST] [--strict] [--json] [options]",
               "Say what spoils measurements here, and at a peer.", declare_doctor},
    Subcommand{"check",
               "check [HOST | ssh://HOST | --loopback] [--device NAME|all] [--expect FILE] "
               "[--brief] [-o FILE] [options]",
               "Say whether devices and links are well.", declare_check},
    Subcommand{"serve", "serve [--bind ADDRESS] [--port N] [options]",
               "Run a server that clients measure against.", declare_serve},
    Subcommand{"run",
               "run [HOST | ssh://HOST | --hosts FILE | --loopback] [TEST...] [--plan FILE] [axes] "
               "[-o FILE] "
               "[options]",
               "Measure tests, over sizes and other axes.", declare_run},
    Subcommand{"topo",
               "topo GRAPH... [--ranks N] [axes] [-o FILE] [options] | connections [options]",
               "Measure ranks whose QPs form a mesh, a ring...", declare_topo},
    Subcommand{"show", "show FILE... [--percentiles | --csv [--tidy]] [options]",
               "Print results as tables and histograms.", declare_show},
    Subcommand{"compare", "compare BASE NEW [--gate GATE]... [--markdown FILE] [options]",
               "Say whether NEW is worse than BASE.", declare_compare},
    Subcommand{"ab", "ab [--a SIDE] [--b SIDE | --aa] [-o FILE] [options] -- RUN...",
               "Measure two sides in turns, and compare them.", declare_ab},
    Subcommand{"ci",
               "ci --plan FILE [--base FILE | --base-binary PATH] --out DIR [options] [-- RUN...]",
               "Measure a plan, judge it, and write all files.", declare_ci},
    Subcommand{"merge", "merge FILE... -o FILE [options]", "Put several runs into one result.",
               declare_merge},
    Subcommand{"report", "report FILE... -o report.html [options]",
               "Write results as one page with charts and tables.", declare_report},
    Subcommand{"history",
               "history add FILE... --into PATH | show PATH | check PATH | ack PATH --case NAME "
               "--since WHEN",
               "Keep results over time, and find what changed.", declare_history},
    Subcommand{"export", "export FILE... --format NAME [--case NAME]... [-o FILE]",
               "Write results in the formats of other tools.", declare_export},
    Subcommand{"perftest", "perftest TOOL [options] [HOST] | --install DIR | --options",
               "Take perftest's command lines.", declare_perftest},
    Subcommand{"generate", "generate man | bash | zsh | fish",
               "Print the man page, or completion for a shell.", declare_generate},
};

/// Says how to call a subcommand in our words: CLI11 cannot tell HOST from TEST.
class HelpFormatter : public HelpLayout {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    // Of 'history add' the whole of 'history' is shown.
    const bool nested = app->get_parent() != nullptr && app->get_parent()->get_parent() != nullptr;
    const std::string name = nested ? app->get_parent()->get_name() : app->get_name();
    if (nested && name == "topo")
      return usage_text("topo connections [HOST | ssh://HOST | --loopback] [-o FILE] [options]");
    for (const Subcommand& subcommand : kSubcommands)
      if (name == subcommand.name) return usage_text(subcommand.usage);
    return usage_text("SUBCOMMAND ...");
  }
};

/// An App with every subcommand, and what each will do. Options are declared only of those that the
/// arguments name, which is most of the work of a start; `generate` tells all.
struct CommandLine {
  CLI::App app{"Measures latency and bandwidth of RDMA verbs."};
  std::array<std::pair<CLI::App*, Action>, kSubcommands.size()> actions;

  explicit CommandLine(const std::vector<std::string>& arguments) {
    const auto named = [&arguments](const char* name) {
      return std::ranges::find(arguments, name) != arguments.end();
    };
    app.name("rdmameter");
    app.set_version_flag(
        "--version", fmt::format("rdmameter " RDMAMETER_VERSION ", protocol {}", kProtocolVersion));
    app.formatter(std::make_shared<HelpFormatter>());
    app.footer(
        "'rdmameter SUBCOMMAND --help' says more, with examples.\n\n"
        "Exit status: 0 pass, 1 regression, 2 usage or nothing to measure,\n"
        "3 inconclusive, 77 no device, 99 a measurement failed, 130 interrupted.");
    for (std::size_t i = 0; i < kSubcommands.size(); ++i) {
      CLI::App* sub = app.add_subcommand(kSubcommands[i].name, kSubcommands[i].summary);
      sub->allow_extras();  // reported by us, with the nearest option
      actions[i].first = sub;
      if (named(kSubcommands[i].name) || named("generate"))
        actions[i].second = kSubcommands[i].declare(*sub);
    }
    app.allow_extras();
  }
};

/// What failed, which may quote a file, a peer, and what was typed.
void tell_error(const std::exception& error) noexcept {
  try {
    tell_text(for_stderr("rdmameter: " + printable_lines(without_token(error_text(error))) + "\n"));
  } catch (const std::bad_alloc&) {
    tell_text("rdmameter: ");
    tell_text(error.what());
    tell_text("\n");
  }
}

ExitStatus run_subcommand(std::vector<std::string> arguments) {
  static InterruptSource interrupt;  // outlives the signal handlers
  raise_on_signals(interrupt);
  // Before perftest's tools, whose name a session may carry.
  if (arguments.size() == 2 && arguments[1] == kSessionArgument) {
    serve_inherited_session(interrupt);
    return ExitStatus::pass;
  }
  const auto perftest = perftest_call(arguments);
  Invocation invocation{
      shell_text(arguments), {arguments.begin() + 1, arguments.end()}, {}, interrupt};
  if (perftest) return run_perftest(*perftest, invocation, tell_error);
  arguments.erase(arguments.begin());
  invocation.benchmark_arguments = take_benchmark_arguments(arguments);

  CommandLine command_line(arguments);
  if (!parse(command_line.app, arguments, options_of_perftest_letter))
    return ExitStatus::pass;  // --help, --version
  for (const auto& [sub, action] : command_line.actions)
    if (sub->parsed()) {
      set_memory_user("rdmameter " + sub->get_name());
      if (!invocation.benchmark_arguments.empty() && sub->get_name() != "run" &&
          sub->get_name() != "ab")
        throw UsageError("--benchmark_* arguments go with 'rdmameter run' and 'rdmameter ab'");
      return action(invocation);
    }
  throw UsageError("say what to do:\n\n" + command_line.app.help());
}

/// What has been printed has arrived, or its reader wanted no more (`| head`), or (a full disk) the
/// program has failed.
ExitStatus end_of_stdout(ExitStatus status) {
  if (flush_print() || print_error() == EPIPE) return status;
  if (print_error() == EINTR) return ExitStatus::interrupted;  // a pipe without a reader
  tell("rdmameter: stdout cannot be written: {}\n", std::strerror(print_error()));
  return ExitStatus::failed;
}

}  // namespace

int run_program(int argc, char** argv) {
  occupy_standard_streams();
  try {
    const std::vector<std::string> arguments(argv, argv + argc);
    hide_token(argc, argv);
    return static_cast<int>(end_of_stdout(run_subcommand(arguments)));
  } catch (const std::exception& error) {
    flush_print();
    tell_error(error);
    return static_cast<int>(status_of(std::current_exception()));
  }
}

}  // namespace rdmameter
