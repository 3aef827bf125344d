// SPDX-License-Identifier: Apache-2.0
// The program: command line, subcommands, and the one place where failures become exit statuses.
#include "bench/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <new>

#include "bench/cases/cases.h"
#include "bench/cases/words.h"
#include "bench/commands/perftest.h"
#include "bench/options/command.h"
#include "bench/options/token.h"
#include "bench/perftest/option_table.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/process.h"
#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"
#include "core/log/print.h"
#include "core/server/session_process.h"
#include "core/session/protocol.h"
#include "core/test_case/test_case.h"
#include "core/wire/wait.h"
#include "reports/text/text.h"
#include "topologies/axes/rank_axes.h"

namespace rdmameter {

// Each in its own file in bench/commands/.
Action declare_ab(CLI::App&), declare_check(CLI::App&), declare_ci(CLI::App&),
    declare_compare(CLI::App&), declare_devices(CLI::App&), declare_doctor(CLI::App&),
    declare_export(CLI::App&), declare_generate(CLI::App&), declare_history(CLI::App&),
    declare_merge(CLI::App&), declare_perftest(CLI::App&), declare_report(CLI::App&),
    declare_run(CLI::App&), declare_serve(CLI::App&), declare_show(CLI::App&),
    declare_topo(CLI::App&);

namespace {

// The command line: read by CLI11, but with our texts for what is wrong with it.

/// The axis that is off or on and that the argument names without a value; null: there is none.
const Axis* named_switch(std::string_view argument) {
  if (!argument.starts_with("--")) return nullptr;
  const Axis* axis = find_axis(argument.substr(2));
  return axis != nullptr && is_switch(*axis) ? axis : nullptr;
}

/// "on", "off,on"
bool are_words_of(const Axis& axis, std::string_view text) {
  return std::ranges::all_of(split(text, ","), [&](std::string_view part) {
    return std::ranges::find(axis.words, part, &Word::text) != axis.words.end();
  });
}

/// `--verify` alone means on, as any axis that is on or off. CLI11 has no option whose value may be
/// left out before a positional.
void complete_switches(std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (const Axis* const axis = named_switch(arguments[i]);
        axis != nullptr && (i + 1 == arguments.size() || !are_words_of(*axis, arguments[i + 1])))
      arguments[i] += "=on";
}

constexpr char kBehindBracket = '\0';  // no argument has one

std::string without_mark(std::string word) {
  if (word.ends_with(kBehindBracket)) word.pop_back();
  return word;
}

void read_marks(CLI::App& app) {
  for (CLI::Option* const option : app.get_options())
    option->transform(std::function<std::string(std::string)>(without_mark), "");
  for (CLI::App* const sub : app.get_subcommands({})) read_marks(*sub);
}

/// Where an option or positional takes several values, CLI11 takes `[127.0.0.1]` for a list and its
/// brackets off, and cannot be told not to. A mark behind the bracket hides it, until the
/// value is taken.
void keep_brackets(CLI::App& app, std::vector<std::string>& arguments) {
  for (std::string& argument : arguments)
    if (argument.ends_with(']')) argument += kBehindBracket;
  read_marks(app);
}

/// "run", "history add"
std::string full_name(const CLI::App& app) {
  const CLI::App* parent = app.get_parent();
  if (parent == nullptr || parent->get_parent() == nullptr) return app.get_name();
  return parent->get_name() + " " + app.get_name();
}

/// What perftest's letter is here, as far as this subcommand has it.
std::string letter_hint(const CLI::App& app, char letter) {
  const std::vector<std::string> options = options_of_perftest_letter(letter);
  const auto ours = std::ranges::find_if(options, [&app](const std::string& option) {
    return app.get_option_no_throw(option) != nullptr;
  });
  return fmt::format(
      "; options have long names here{}{} (perftest's command lines: 'rdmameter "
      "perftest TOOL ...')",
      ours == options.end() ? "" : ", perftest's is ", ours == options.end() ? "" : *ours);
}

[[noreturn]] void refuse_option(const CLI::App& app, const std::string& typed) {
  const std::string name = typed.substr(0, typed.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& long_name : option->get_lnames()) known.push_back("--" + long_name);
  const std::vector<std::string_view> views(known.begin(), known.end());
  const bool one_letter = name.size() == 2 && name[0] == '-' && name[1] != '-';
  throw UsageError("unknown option '{}'{} ('{} --help' lists the options)", name,
                   one_letter ? letter_hint(app, name[1]) : did_you_mean(name, views),
                   full_name(app));
}

[[noreturn]] void refuse_subcommand(const CLI::App& app, const std::string& typed) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) names.push_back(sub->get_name());
  const std::vector<std::string_view> views(names.begin(), names.end());
  throw UsageError("there is no subcommand '{}'{} (subcommands: {})", typed,
                   did_you_mean(typed, views), fmt::join(names, ", "));
}

void check_rest(const CLI::App& app) {
  const auto subs = app.get_subcommands();
  if (subs.size() > 1)
    throw UsageError("'{}' and '{}': one subcommand at a time", subs[0]->get_name(),
                     subs[1]->get_name());
  const CLI::App* last = &app;  // 'history add' goes two steps down
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  std::vector<std::string> rest = app.remaining(true);
  std::erase(rest, "--");  // CLI11 keeps the mark behind which everything is positional
  if (rest.empty()) return;
  rest.front() = without_mark(rest.front());
  if (rest.front().starts_with('-') && rest.front() != "-") refuse_option(*last, rest.front());
  if (subs.empty()) refuse_subcommand(app, rest.front());
  throw UsageError("{}: unexpected argument '{}'", full_name(*last), rest.front());
}

bool asks_for_help(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), std::ranges::find(arguments, "--"),
                     [](const std::string& argument) {
                       return argument == "--help" || argument == "-h" || argument == "--help-all";
                     });
}

/// `run --help depth`, or `--help --depth`: that option alone.
/// @return  was it asked for?
/// @throws UsageError  a last word that is neither an option nor a test
bool print_help_of_option(CLI::App& app, const std::vector<std::string>& arguments) {
  const auto end = std::ranges::find(arguments, "--");
  const auto help = std::find_if(arguments.begin(), end, [](const std::string& argument) {
    return argument == "--help" || argument == "-h";
  });
  if (help == end || help + 1 == end) return false;
  const auto subs = app.get_subcommands(
      [&arguments](const CLI::App* sub) { return sub->get_name() == arguments.front(); });
  if (subs.empty()) return false;
  const std::string_view word = help[1];
  const std::string name(word.starts_with("--") ? word.substr(2) : word);
  const CLI::Option* option = subs.front()->get_option_no_throw("--" + name);
  const auto formatter = std::dynamic_pointer_cast<CLI::Formatter>(app.get_formatter());
  if (option == nullptr && help + 2 == end && !word.starts_with('-') && !names_test(word) &&
      subs.front()->get_subcommands(nullptr).empty())
    refuse_option(*subs.front(), "--" + name);
  if (option == nullptr || !formatter) return false;
  print_text(formatter->make_option(option, false));
  return true;
}

/// CLI11's texts for options with too few or too many values, but what is given twice in our words.
std::string mismatch_text(const std::string& theirs) {
  constexpr std::string_view kRequired = ": 1 required ", kMissing = " missing";
  if (const auto at = theirs.find(kRequired); at != theirs.npos && theirs.ends_with(kMissing)) {
    const std::size_t value = at + kRequired.size();
    return fmt::format("{}: its value is missing: {}", theirs.substr(0, at),
                       theirs.substr(value, theirs.size() - kMissing.size() - value));
  }
  const auto end = CLI::detail::to_lower(theirs).find(": at most 1 required");  // CLI11 2.6: "most"
  if (end == std::string::npos) return theirs;
  const std::string name = theirs.substr(0, end);
  const std::string_view option = std::string_view(name).substr(std::min(name.size(), 2UL));
  const bool lists = find_axis(option) != nullptr || find_axis(option, topology_axes()) != nullptr;
  return fmt::format("{} is given more than once: give it once{}", name,
                     lists ? fmt::format(", with its values in a list: {} A,B", name) : "");
}

/// Parses the arguments (without the program's name). Prints help or version on stdout
/// where asked for.
/// @return  false: that was all
/// @throws UsageError  with the nearest known word, where one is unknown
bool parse(CLI::App& app, std::vector<std::string> arguments) {
  if (print_help_of_option(app, arguments)) return false;
  const bool help = asks_for_help(arguments);
  const auto help_mode = std::ranges::find(arguments, "--help-all") != arguments.end()
                             ? CLI::AppFormatMode::All
                             : CLI::AppFormatMode::Normal;
  complete_switches(arguments);
  keep_brackets(app, arguments);
  std::ranges::reverse(arguments);  // what CLI11's parse(vector) wants
  try {
    app.parse(arguments);
  } catch (const CLI::CallForVersion& version) {
    print("{}\n", version.what());
    return false;
  } catch (const CLI::CallForHelp&) {
    print_text(app.help());
    return false;
  } catch (const CLI::CallForAllHelp&) {
    print_text(app.help("", CLI::AppFormatMode::All));
    return false;
  } catch (const UsageError&) {  // of a value: CLI11 reads values before it looks for --help
    if (!help) throw;
    print_text(app.help("", help_mode));
    return false;
  } catch (const CLI::ArgumentMismatch& error) {
    throw UsageError(mismatch_text(error.what()));
  } catch (const CLI::ParseError& error) {  // CLI11's own exit codes are not ours
    throw UsageError(error.what());
  }
  check_rest(app);
  return true;
}

struct Subcommand {
  std::string_view usage;  ///< begins with the name
  const char* summary;
  Action (*declare)(CLI::App&);

  std::string name() const { return std::string(usage.substr(0, usage.find(' '))); }
};

constexpr std::array kSubcommands{
    Subcommand{"devices [--json]", "Print the devices, ports and GIDs that are here.",
               declare_devices},
    Subcommand{"doctor [HOST] [--strict] [--json] [options]",
               "Say what spoils measurements here, and at a peer.", declare_doctor},
    Subcommand{"check [HOST | ssh://HOST | --loopback] [--device NAME|all] [--expect FILE] "
               "[--brief] [-o FILE] [options]",
               "Say whether devices and links are well.", declare_check},
    Subcommand{"serve [--bind ADDRESS] [--port N] [options]",
               "Run a server that clients measure against.", declare_serve},
    Subcommand{"run [HOST | ssh://HOST | --hosts FILE | --loopback] [TEST...] [--plan FILE] [axes] "
               "[-o FILE] [options]",
               "Measure tests, over sizes and other axes.", declare_run},
    Subcommand{"topo GRAPH... [--ranks N] [axes] [-o FILE] [options] | connections [options]",
               "Measure ranks whose QPs form a mesh, a ring...", declare_topo},
    Subcommand{"show FILE... [--percentiles | --csv [--tidy]] [options]",
               "Print results as tables and histograms.", declare_show},
    Subcommand{"compare BASE NEW [--gate GATE]... [--markdown FILE] [options]",
               "Say whether NEW is worse than BASE.", declare_compare},
    Subcommand{"ab [--a SIDE] [--b SIDE | --aa] [-o FILE] [options] -- RUN...",
               "Measure two sides in turns, and compare them.", declare_ab},
    Subcommand{"ci --plan FILE [--base FILE | --base-binary PATH] --out DIR [options] [-- RUN...]",
               "Measure a plan, judge it, and write all files.", declare_ci},
    Subcommand{"merge FILE... -o FILE [options]", "Put several runs into one result.",
               declare_merge},
    Subcommand{"report FILE... -o report.html [options]",
               "Write results as one page with charts and tables.", declare_report},
    Subcommand{"history add FILE... --into PATH | show PATH | check PATH | ack PATH --case NAME "
               "--since WHEN",
               "Keep results over time, and find what changed.", declare_history},
    Subcommand{"export FILE... --format NAME [--case NAME]... [-o FILE]",
               "Write results in the formats of other tools.", declare_export},
    Subcommand{"perftest TOOL [options] [HOST] | --install DIR | --options",
               "Take perftest's command lines.", declare_perftest},
    Subcommand{"generate man | bash | zsh | fish", "Print the man page, or completion for a shell.",
               declare_generate},
};

/// Says how to call a subcommand in our words: CLI11 cannot tell HOST from TEST.
class HelpFormatter : public HelpLayout {
 public:
  std::string make_usage(const CLI::App* app, std::string) const override {
    const std::string name = full_name(*app);
    if (name == "topo connections")
      return usage_text("topo connections [HOST | ssh://HOST | --loopback] [-o FILE] [options]");
    for (const Subcommand& subcommand : kSubcommands)  // of 'history add' the whole of 'history'
      if (name.substr(0, name.find(' ')) == subcommand.name()) return usage_text(subcommand.usage);
    return usage_text("SUBCOMMAND ...");
  }
};

/// An App with every subcommand, and what each will do. Options are declared only of those that the
/// arguments name, which is most of the work of a start; `generate` tells all.
struct CommandLine {
  CLI::App app{"Measures latency and bandwidth of RDMA verbs."};
  std::vector<std::pair<CLI::App*, Action>> actions;

  explicit CommandLine(const std::vector<std::string>& arguments) {
    const auto named = [&arguments](const std::string& name) {
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
    for (const Subcommand& each : kSubcommands) {
      const std::string name = each.name();
      CLI::App* sub = app.add_subcommand(name, each.summary);
      sub->allow_extras();  // reported by us, with the nearest option
      actions.emplace_back(sub, named(name) || named("generate") ? each.declare(*sub) : Action());
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
  Invocation invocation{
      shell_text(arguments), {arguments.begin() + 1, arguments.end()}, {}, interrupt};
  if (const auto status = run_perftest(arguments, invocation, tell_error)) return *status;
  arguments.erase(arguments.begin());
  invocation.benchmark_arguments = take_benchmark_arguments(arguments);

  CommandLine command_line(arguments);
  if (!parse(command_line.app, arguments)) return ExitStatus::pass;  // --help, --version
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
