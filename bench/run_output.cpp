// SPDX-License-Identifier: Apache-2.0
#include "bench/run_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "bench/row_line.h"
#include "core/error.h"
#include "reports/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kWidestName = 48;  // longer names push their line, not those of all others

}  // namespace

bool somebody_watches_stderr() {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return isatty(STDERR_FILENO) == 1 && !dumb && std::getenv("CI") == nullptr;
}

void check_writable(const std::string& output) {
  if (output.empty() || output == "-") return;
  const std::filesystem::path path(output);
  std::error_code ignored;
  const bool there = std::filesystem::exists(path, ignored);
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const bool directory = std::filesystem::is_directory(path, ignored);
  if (!directory && access(there ? path.c_str() : folder.c_str(), W_OK) == 0) return;
  throw UsageError(fmt::format("-o {}: cannot be written: {}", output,
                               std::strerror(directory ? EISDIR : errno)));
}

RunOutput::RunOutput(const std::string& output, const nlohmann::ordered_json& context,
                     const std::vector<PlannedCase>& cases)
    : lines_(output != "-"), utf8_(terminal_style().utf8), progress_(somebody_watches_stderr()) {
  if (!output.empty()) writer_.emplace(output, context);
  for (const PlannedCase& planned : cases)
    name_width_ = std::max(name_width_, std::min(planned.name.size(), kWidestName));
}

void RunOutput::begin(const std::string& name, std::uint64_t done, std::uint64_t all) {
  if (!progress_) return;
  fmt::print(stderr, "\r\033[K{} of {}: {}", done + 1, all, name);
  std::fflush(stderr);
}

void RunOutput::clear_progress() {
  if (!progress_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
}

void RunOutput::row(const Row& row) {
  if (writer_) writer_->append(row);
  clear_progress();
  if (row.status == Row::Status::error && first_error_.empty()) first_error_ = row.message;
  if (!lines_) return;
  Row shown = row;
  if (!row.message.empty() && row.message == last_message_) shown.message = "as before";
  last_message_ = row.message;
  const std::string line = row_line(shown, name_width_);
  fmt::print("{}\n", utf8_ ? line : to_ascii(line));
  std::fflush(stdout);  // a line appears when its repetition ends, through a pipe too
}

void RunOutput::finish(const RunTally& tally) {
  clear_progress();
  if (writer_) writer_->finish();
  if (tally.interrupted)
    fmt::print(stderr, "rdmameter: interrupted; rows {}: {}\n",
               writer_ ? "in the result" : "measured",
               tally.measured + tally.skipped + tally.failed);
  else if (tally.failed > 0)
    fmt::print(stderr, "rdmameter: {} of {} measurements failed: {}\n", tally.failed,
               tally.failed + tally.measured, printable(first_error_));
  else if (tally.measured == 0)
    fmt::print(stderr, "rdmameter: nothing was left to measure: each case was skipped{}\n",
               lines_ ? " for the reason above" : "");
}

}  // namespace rdmameter
