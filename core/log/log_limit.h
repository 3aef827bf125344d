// SPDX-License-Identifier: Apache-2.0
// How many lines of a server's log a source may cause: strangers who connect thousands of times a
// second must neither fill a disk nor hide the lines of others.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

/// Who causes a line: a client at will, or the server, which ended that client's session or saw it
/// crash. The server has room of its own, so that no flood hides it.
enum class Speaker { client, server };

/// Counts lines of each source in each second. Not thread-safe.
class LogLimit {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint32_t kLinesOfSource = 50;  ///< in a second
  static constexpr std::uint32_t kLines = 200;         ///< of all sources in a second
  static constexpr std::uint32_t kReserved = 10;       ///< beyond both, for Speaker::server
  static constexpr std::size_t kSources = 256;         ///< known at a time; more count as one
  static constexpr std::size_t kNotes = 8;             ///< sources named in a second's notes

  /// May a line of this source be written? If not, it is counted.
  bool admits(std::string_view source, Clock::time_point now, Speaker speaker = Speaker::client);

  /// Once the second has passed: what it dropped, a line for each of the worst sources and one for
  /// the others. Call it before admits(), and when due().
  std::vector<std::string> notes(Clock::time_point now);
  /// The notes of a second that has not passed yet.
  std::vector<std::string> last_notes();

  /// When notes() will have some; none: nothing was dropped.
  std::optional<Clock::time_point> due() const;

 private:
  struct Count {
    std::uint32_t written = 0;
    std::uint64_t dropped = 0;
  };
  Count& count_of(std::string_view source);

  Clock::time_point begun_{};
  std::map<std::string, Count, std::less<>> sources_;
  Count others_;  ///< sources beyond kSources
  std::uint32_t written_ = 0;
  bool dropped_ = false;
};

}  // namespace rdmameter
