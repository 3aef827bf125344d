// SPDX-License-Identifier: Apache-2.0
// A history: one line of JSON for each result, with what is worth keeping of it. Lines are only
// ever added, so that git and several jobs get along with the file.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/result/result_file.h"
#include "reports/summary/facts.h"

namespace rdmameter {

inline constexpr std::string_view kHistorySchema = "rdmameter.history.v1";

struct HistoryNumber {
  double median = 0;
  double half_range = 0;  ///< half of what the repetitions span; 0 for one repetition
};

struct HistoryCase {
  std::string name;
  std::size_t repetitions = 1;
  std::map<std::string, HistoryNumber> numbers;  ///< by MetricInfo::key
};

struct HistoryEntry {
  std::string time;    ///< the result's date, ISO 8601
  std::string commit;  ///< what was measured; may be empty
  Json environment;    ///< {"initiator", "responder"}, and where there are several "responders" or
                       ///< "ranks" (the first one): as the result's context
  std::vector<HistoryCase> cases;
};

/// The data of a result that a history keeps.
/// @param commit  empty: that of the result's context, if there is one
/// @throws UsageError  the result has no date
HistoryEntry history_entry(const ResultFile& file, const std::string& commit);

/// The file that `path` means: itself, or history.jsonl in it where it is a directory.
std::string history_path(const std::string& path);

/// The newest results of the file `path`; none where it is not there or cannot be read.
std::vector<HistoryEntry> newest_entries(const std::string& path);

/// Whether this result, of this commit, is among them already: then it is added by mistake.
bool is_among(const std::vector<HistoryEntry>& entries, const HistoryEntry& entry);

/// Adds a line, whole or not at all, even if other processes add one meanwhile.
/// @throws UsageError, ResultFileError
void append_history(const std::string& path, const HistoryEntry& entry);

/// A user's note that a change is known: a line of the history, too.
struct Acknowledgement {
  std::string name;    ///< of the case
  std::string metric;  ///< MetricInfo::key; empty: all of the case's
  std::string since;   ///< HistoryEntry::time of the first result after the change
  std::string note;
};

/// Adds an acknowledgement, as append_history() adds an entry.
void append_acknowledgement(const std::string& path, const Acknowledgement& acknowledged);

struct History {
  std::vector<HistoryEntry> entries;  ///< in order of time
  std::vector<Acknowledgement> acknowledged;
  std::vector<std::string> broken;  ///< "FILE: line 7: ...": lines that could not be read
};

/// @param newest  reads so many of the last lines alone, and not what is before them
/// @throws UsageError  the file cannot be read
History read_history(const std::string& path, std::size_t newest = ~std::size_t{0});

/// The time of the first entry whose commit or time begins so; else a date as it is.
/// @param option  for the text of the error
/// @throws UsageError  there is no such commit, and it is no date
std::string history_time(const History& history, const std::string& option,
                         const std::string& text);

}  // namespace rdmameter
