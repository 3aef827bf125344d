// SPDX-License-Identifier: Apache-2.0
// rdmameter perftest: perftest's own command lines, and links with the names of its tools.
#include "bench/commands/perftest.h"

#include <sys/prctl.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <vector>

#include "bench/cases/words.h"
#include "bench/options/command.h"
#include "bench/perftest/client.h"
#include "bench/perftest/command_line.h"
#include "bench/perftest/server.h"
#include "bench/perftest/tool.h"
#include "bench/perftest/translate.h"
#include "bench/running/process.h"
#include "core/base/error.h"
#include "core/base/error_text.h"
#include "core/base/lists.h"
#include "core/log/print.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

/// perftest knows two ends: all that is no success is 1.
constexpr ExitStatus kPerftestFailed = static_cast<ExitStatus>(1);

constexpr const char* kPerftestFooter =
    "TOOL is ib_send_bw, ib_send_lat, ib_write_bw, ib_write_lat, ib_read_bw,\n"
    "ib_read_lat, ib_atomic_bw or ib_atomic_lat, which 'rdmameter perftest TOOL\n"
    "--help' describes. Without HOST it is the server, on port 18515, for one\n"
    "client. Both ends must be rdmameter.\n\n"
    "Examples:\n"
    "  rdmameter perftest ib_write_bw -d mlx5_0                      the server\n"
    "  rdmameter perftest ib_write_bw -d mlx5_0 -s 65536 -D 5 HOST   the client\n"
    "  rdmameter perftest --install ~/bin      then ib_write_bw is rdmameter";

struct PerftestArguments {
  std::string install;
  bool options = false;
};

/// Links beside each other: a file that is there already and is no such link stays.
void install_links(const std::string& folder) {
  namespace fs = std::filesystem;
  const fs::path program = fs::read_symlink("/proc/self/exe");
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw UsageError("--install {}: there is no such folder: mkdir it first", folder);
  for (const PerftestTool& tool : perftest_tools()) {
    const fs::path link = fs::path(folder) / tool.name;
    if (fs::is_symlink(link, error) && fs::read_symlink(link, error) == program) continue;  // ours
    fs::create_symlink(program, link, error);
    if (error)
      throw UsageError("--install {}: cannot create {}: {}", folder, link.string(),
                       error.message());
  }
  for (const PerftestTool& tool : perftest_tools())
    print("{}\n", (fs::path(folder) / tool.name).string());
}

ExitStatus perftest(const PerftestArguments& options) {
  if (options.options) {
    const TextStyle style = terminal_style();
    print_text(style.narrow ? perftest_options_text(style.width) : perftest_options_markdown());
    return ExitStatus::pass;
  }
  if (options.install.empty())
    throw UsageError(
        "perftest: name a tool ('rdmameter perftest ib_write_bw HOST'), or use --install DIR");
  install_links(options.install);
  return ExitStatus::pass;
}

ExitStatus run_tool(const PerftestTool& tool, const std::vector<std::string>& arguments,
                    const Invocation& invocation) {
  const PerftestCommand command = read_perftest_command(tool, arguments);
  if (command.has("help")) {
    print_text(perftest_help(tool, terminal_style().width));
    return ExitStatus::pass;
  }
  if (command.has("version")) {
    print("Version: rdmameter {}\n", RDMAMETER_VERSION);
    return ExitStatus::pass;
  }
  const PerftestPlan plan = translate(command);
  if (plan.warns_of_no_peak) print_text(" WARNING: BW peak won't be measured in this run.\n");
  // As perftest these end by a signal, at once. One that runs until it is interrupted ends well.
  give_signal_back(SIGTERM);
  give_signal_back(SIGHUP);
  if (plan.host.empty() || !plan.report.intervals)
    give_signal_back(SIGINT);
  else
    take_one_interrupt();
  const bool fine = plan.host.empty()
                        ? run_perftest_server(plan, invocation.command_line, invocation.interrupt)
                        : run_perftest_client(plan, invocation.command_line, invocation.interrupt);
  return fine ? ExitStatus::pass : kPerftestFailed;
}

/// @throws UsageError  `name` stands where perftest's tools are named
[[noreturn]] void refuse_tool(const std::string& name) {
  if (name.starts_with("raw_ethernet"))
    throw UsageError(
        "perftest: rdmameter does not send raw Ethernet frames: for {} use perftest itself", name);
  throw UsageError("perftest has no tool '{}'{} ('rdmameter perftest --help' names them)", name,
                   did_you_mean(name, mapped(perftest_tools(), &PerftestTool::name)));
}

}  // namespace

std::optional<ExitStatus> run_perftest(
    const std::vector<std::string>& arguments, const Invocation& invocation,
    const std::function<void(const std::exception&)>& tell_error) {
  auto its_arguments = arguments.begin() + 1;
  const PerftestTool* tool =
      find_perftest_tool(std::filesystem::path(arguments.front()).filename().string());
  if (tool == nullptr) {
    if (arguments.size() < 3 || arguments[1] != "perftest" || arguments[2].starts_with('-'))
      return std::nullopt;
    tool = find_perftest_tool(arguments[2]);
    if (tool == nullptr) refuse_tool(arguments[2]);
    its_arguments += 2;
  }
  prctl(PR_SET_NAME, tool->name.data());  // as by a link, for `pkill ib_write_bw`
  try {
    return run_tool(*tool, {its_arguments, arguments.end()}, invocation);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    flush_print();
    tell_error(std::runtime_error(in_words_of_perftest(error_text(error))));
    return kPerftestFailed;
  }
}

Action declare_perftest(CLI::App& app) {
  const auto options = std::make_shared<PerftestArguments>();
  add_option(app, "--install", options->install, "DIR",
             "create links to this program, with the names of perftest's tools, in this folder; "
             "files that are there stay");
  add_flag(app, "--options", options->options,
           "print every option of perftest, and what becomes of it here");
  app.footer(kPerftestFooter);
  return [options](const Invocation&) { return perftest(*options); };
}

}  // namespace rdmameter
