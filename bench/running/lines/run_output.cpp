// SPDX-License-Identifier: Apache-2.0
#include "bench/running/lines/run_output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>

#include "bench/running/lines/case_lines.h"
#include "bench/running/status_line.h"
#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/log/print.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/summary/line_rate.h"
#include "reports/summary/summary.h"
#include "reports/text/text.h"
#include "reports/text/until_text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kWidestLogLine = 160;
constexpr std::size_t kWidestName = 48;  // longer names push their line, not those of all others

/// The lines were the run's only output, and they have reached no reader.
[[noreturn]] void end_unseen() {
  if (print_error() == EPIPE) throw Interrupted("the reader of stdout has gone");
  if (print_error() == EINTR) throw Interrupted("interrupted while stdout was not read");
  throw ResultFileError("stdout cannot be written: {}; -o FILE keeps what is measured",
                        std::strerror(print_error()));
}

/// Do stdout and stderr go to one terminal, file or pipe? Then what a line of the one has told
/// needs not be told again on the other.
bool streams_are_one() {
  struct stat out {
  }, err{};
  return fstat(STDOUT_FILENO, &out) == 0 && fstat(STDERR_FILENO, &err) == 0 &&
         out.st_dev == err.st_dev && out.st_ino == err.st_ino;
}

}  // namespace

RunOutput::RunOutput(const std::string& output, const Json& context,
                     const std::vector<PlannedCase>& cases)
    : context_(context),
      output_(output),
      lines_(output != "-"),
      utf8_(terminal_style().utf8),
      progress_(stderr_is_interactive()),
      framed_(progress_ && isatty(STDOUT_FILENO) == 1) {
  if (!output.empty()) writer_.emplace(output, context);
  const auto names = mapped(cases, &PlannedCase::name);
  if (framed_) common_ = common_parts(names);
  for (const std::string& name : names)
    name_width_ = std::max(name_width_, std::min(shorten_name(name, common_).size(), kWidestName));
  if (!framed_) return;
  tell_text(run_header(context, common_, stderr_width()));
  table_.emplace(name_width_, terminal_style().width, link_rate(context), common_);
}

void RunOutput::keep_without_lines() {
  keeps_ = true;
  lines_ = false;
  table_.reset();
}

void RunOutput::begin(const std::string& name, std::uint64_t done, std::uint64_t all) {
  const double now_s = seconds_since(begun_);
  if (progress_) {
    tell("\r\033[K{}", status_line(done, all, now_s, name, stderr_width()));
  } else if (now_s - last_told_s_ >= kLogPause_s) {
    last_told_s_ = now_s;
    tell("{}\n", status_line(done, all, now_s, name, kWidestLogLine));
  }
}

void RunOutput::row(const Row& measured) {
  Row row = measured;
  note_bounds(row, context_);
  tail_may_be_missing_ = tail_may_be_missing_ || tail_may_be_missing(row);
  // What no file has is shown at least.
  const std::exception_ptr lost = writer_ ? writer_->try_to_append(row) : nullptr;
  if (progress_) tell("\r\033[K");
  if (keeps_ || !tellings_.empty()) kept_.push_back(row);
  if (row.until) {
    Row& light = settled_.emplace_back();
    light.name = row.name;
    light.repetition = row.repetition;
    light.until = row.until;
  }
  if (row.status == Row::Status::error && first_error_.empty()) first_error_ = row.message;
  if (row.status == Row::Status::ok) measured_cases_.insert(row.family_index);
  if (row.status == Row::Status::skipped) ++entry_of(skip_reasons_, row.message);
  if (lines_) print_lines(shown(row));
  if (lines_ && table_ && lost) print_lines(table_->rest());
  if (lost) std::rethrow_exception(lost);
}

/// At a terminal in lines that fit, of the name what is not told above.
std::string RunOutput::told_line(const Row& row) const {
  if (!terminal_style().narrow) return row_line(row, name_width_) + "\n";
  constexpr std::size_t kNarrow = 36;
  const std::size_t width = terminal_style().width;
  const std::string name = printable(shorten_name(row.name, common_));
  const std::string before = pad_right(name, name_width_) + "  ";
  if (text_width(before) + kNarrow <= width) return wrap(before, row_text(row), width);
  return name_lines(name, width) + wrap("    ", row_text(row), width);
}

/// Of a row, which at a terminal may be nothing, as its case goes on.
std::string RunOutput::shown(const Row& row) {
  const bool measured = row.status == Row::Status::ok && (row.latency || row.bandwidth);
  if (table_ && measured && !row.interrupted) return table_->add(row);
  Row told = row;
  // "not measured: WHY" behind "WHY", too.
  if (!last_message_.empty() && row.message.ends_with(last_message_))
    told.message = "as before";
  else
    last_message_ = row.message;
  const std::string line = told_line(told);
  return table_ && row.status == Row::Status::error ? line + table_->add(row) : line;
}

void RunOutput::print_lines(const std::string& text) {
  if (text.empty()) return;
  // A line appears when its repetition ends, through a pipe too.
  if (!print_now(utf8_ ? text : to_ascii(text)) && !writer_) end_unseen();
}

/// ": why". Where a row's line is read together with it: only if that line leaves something out,
/// and then with its sentence, for a remedy alone does not say of what.
std::string RunOutput::untold_error() const {
  const std::string error = printable(first_error_);
  const bool told = lines_ && streams_are_one() && headline(first_error_) == first_error_;
  return told ? "" : ": " + error;
}

ExitStatus RunOutput::finish(const RunTally& tally) {
  if (progress_) tell("\r\033[K");
  if (writer_) writer_->finish();
  if (table_ && lines_) print_lines(table_->rest());
  const TextStyle on_stderr{.width = stderr_width(), .utf8 = utf8_};
  if (framed_ || !lines_)  // else each has told its own
    tell_text(until_report(settled_, on_stderr));
  std::string told;
  for (const Telling& telling : tellings_)
    told += telling(kept_, lines_ ? terminal_style() : on_stderr);
  if (lines_)
    print_lines(told);
  else
    tell_text(told);
  if (tail_may_be_missing_) tell_lines("{}\n", kTailMayBeMissing);
  if (framed_)
    tell_text(run_summary({tally, measured_cases_.size(), skip_reasons_}, seconds_since(begun_),
                          output_, stderr_width()));
  if (tally.interrupted && !writer_ && print_error() != 0)
    return tally.status();  // as its reader wished
  std::string last;
  if (tally.interrupted)
    last =
        fmt::format("rdmameter: interrupted; rows {}: {}\n", writer_ ? "in the result" : "measured",
                    tally.measured + tally.skipped + tally.failed);
  else if (tally.failed > 0)
    last = fmt::format("rdmameter: {} of {} measurements failed{}\n", tally.failed,
                       tally.failed + tally.measured, untold_error());
  else if (tally.incomplete > 0)
    last = fmt::format("rdmameter: pairs of ranks failed in {} of {} measurements\n",
                       tally.incomplete, tally.measured);
  else if (tally.measured == 0)
    last = fmt::format("rdmameter: nothing was left to measure: each case was skipped{}\n",
                       lines_ ? " for the reason above" : "");
  tell_text(for_stderr(last));
  return tally.status();
}

}  // namespace rdmameter
