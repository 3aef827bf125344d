// SPDX-License-Identifier: Apache-2.0
// A history: one line of JSON for each result, with what is worth keeping of it. Lines are only
// ever added, so that git and several jobs get along with the file.
#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/result_file.h"

namespace rdmameter {

inline constexpr std::string_view kHistorySchema = "rdmameter.history.v1";

struct HistoryNumber {
  double median = 0;
  double half_range = 0;  ///< half of what the repetitions span; 0 for one repetition
};

struct HistoryCase {
  std::string name;
  std::size_t repetitions = 1;
  std::map<std::string, HistoryNumber> numbers;  ///< by Quantity::key
};

struct HistoryEntry {
  std::string time;                    ///< the result's date, ISO 8601
  std::string commit;                  ///< what was measured; may be empty
  nlohmann::ordered_json environment;  ///< {"initiator", "responder"}: as the result's context
  std::vector<HistoryCase> cases;
};

/// What a history keeps of a result.
/// @param commit  empty: that of the result's context, if there is one
/// @throws UsageError  the result has no date
HistoryEntry history_entry(const ResultFile& file, const std::string& commit);

/// The file that `path` means: itself, or history.jsonl in it where it is a directory.
std::string history_path(const std::string& path);

/// Adds a line, whole or not at all, whoever else adds one meanwhile.
/// @throws UsageError, ResultFileError
void append_history(const std::string& path, const HistoryEntry& entry);

struct History {
  std::vector<HistoryEntry> entries;  ///< in order of time
  std::vector<std::string> broken;    ///< "FILE: line 7: ...": lines that could not be read
};

/// @throws UsageError  the file cannot be read
History read_history(const std::string& path);

}  // namespace rdmameter
