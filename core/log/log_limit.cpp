// SPDX-License-Identifier: Apache-2.0
#include "core/log/log_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace rdmameter {
namespace {

constexpr std::chrono::seconds kWindow{1};

std::string note(std::uint64_t dropped, std::string_view source) {
  return fmt::format(
      "{} line{} from {} dropped: the log takes {} a second from one address, {} in all", dropped,
      dropped == 1 ? "" : "s", source, LogLimit::kLinesOfSource, LogLimit::kLines);
}

}  // namespace

LogLimit::Count& LogLimit::count_of(std::string_view source) {
  if (const auto known = sources_.find(source); known != sources_.end()) return known->second;
  return sources_.size() < kSources ? sources_[std::string(source)] : others_;
}

bool LogLimit::admits(std::string_view source, Clock::time_point now, Speaker speaker) {
  const std::uint32_t reserved = speaker == Speaker::server ? kReserved : 0;
  if (written_ == 0 && !dropped_) begun_ = now;
  Count& count = count_of(source);
  if (count.written < kLinesOfSource + reserved && written_ < kLines + reserved) {
    ++count.written;
    ++written_;
    return true;
  }
  ++count.dropped;
  dropped_ = true;
  return false;
}

std::optional<LogLimit::Clock::time_point> LogLimit::due() const {
  return dropped_ ? std::optional{begun_ + kWindow} : std::nullopt;
}

std::vector<std::string> LogLimit::notes(Clock::time_point now) {
  return now - begun_ < kWindow ? std::vector<std::string>{} : last_notes();
}

std::vector<std::string> LogLimit::last_notes() {
  std::vector<std::pair<std::uint64_t, std::string>> worst;
  for (const auto& [source, count] : sources_)
    if (count.dropped > 0) worst.emplace_back(count.dropped, source);
  std::ranges::sort(worst, std::greater{});
  std::vector<std::string> lines;
  std::uint64_t rest = others_.dropped;
  for (const auto& [dropped, source] : worst) {
    if (lines.size() < kNotes)
      lines.push_back(note(dropped, source));
    else
      rest += dropped;
  }
  if (rest > 0) lines.push_back(note(rest, "other addresses"));
  *this = {};
  return lines;
}

}  // namespace rdmameter
