// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/bootstrap/rank_links.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/error.h"
#include "core/base/printable.h"
#include "topologies/ranks/bootstrap/ranks.h"

namespace rdmameter {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kFrameHead = 4;
constexpr std::size_t kMaxFrameBytes = 256U << 20;
constexpr std::size_t kMaxWhyBytes = 4096;
constexpr milliseconds kTellEvery{1000}, kLook{100};
/// A launcher that ends all ranks when one has died does it within this time, and says it better.
constexpr milliseconds kForLauncher{3000};
constexpr milliseconds kForLastWords{1000};
constexpr milliseconds kForLeave{3000};

}  // namespace

RankLinks::RankLinks(OpenedLinks opened, milliseconds patience, const InterruptSource& interrupt)
    : patience_(patience), tell_every_(std::min(kTellEvery, patience / 4)), interrupt_(interrupt) {
  for (std::vector<OpenedLink>* side : {&opened.ahead, &opened.behind})
    for (OpenedLink& link : *side)
      links_.push_back({.name = std::move(link.name),
                        .socket = std::move(link.socket),
                        .sealer = Sealer(link.keys.send),
                        .opener = Opener(link.keys.receive)});
  // The first sealed frame is longer than the others: this one is, not a message.
  for (Link& link : links_) append(link, Kind::waiting, {});
}

RankLinks::~RankLinks() {
  if (!over_.empty()) return;
  for (Link& link : links_) append(link, Kind::bye, {});
  const auto open = [](const Link& link) { return link.socket && !link.left; };
  const Deadline deadline = Deadline::in(kForLeave);
  while (!deadline.passed() && !interrupt_.requested() && over_.empty() &&
         !(all_are_written() && std::ranges::none_of(links_, open)))
    move_bytes(deadline.within(kLook));
}

bool RankLinks::all_are_written() const {
  return std::ranges::all_of(links_, [](const Link& link) { return link.out.empty(); });
}

void RankLinks::append(Link& link, Kind kind, std::string_view content) {
  if (link.socket) link.out += frame(link.sealer, kind, content);  // else look_at() says so
}

std::string RankLinks::frame(Sealer& sealer, Kind kind, std::string_view content) {
  std::string text(1, static_cast<char>(kind));
  text += content;
  const std::string sealed = sealer.seal(text, false);
  std::string whole;
  whole.reserve(kFrameHead + sealed.size());
  append_number(whole, static_cast<std::uint32_t>(sealed.size()));
  return whole += sealed;
}

std::string frame_that_it_is_over(const SealKeys& keys, std::string_view why) {
  Sealer sealer(keys.send);
  return RankLinks::frame(sealer, RankLinks::Kind::over, why);
}

void RankLinks::send(Link& link, const std::string& message) {
  append(link, Kind::message, message);
  wait_until(link, [&] { return link.socket && link.out.empty(); });
}

std::string RankLinks::receive(Link& link) {
  wait_until(link, [&] { return !link.received.empty(); });
  std::string message = std::move(link.received.front());
  link.received.pop_front();
  return message;
}

std::string RankLinks::send_ahead_receive_behind(std::size_t step, const std::string& message) {
  Link& ahead = links_[step];
  append(ahead, Kind::message, message);
  std::string received = receive_from_behind(step);
  wait_until(ahead, [&] { return ahead.socket && ahead.out.empty(); });
  return received;
}

/// @param on  whose silence counts meanwhile
/// @throws MeasurementError  the run is over; Interrupted
template <class Done>
void RankLinks::wait_until(const Link& on, Done done) {
  const auto begun = Clock::now();
  for (Link& link : links_)  // what does not have to wait goes at once
    if (!link.out.empty()) write(link);
  while (over_.empty() && !done()) {
    look_at(on, begun);
    tell_that_it_waits();
    move_bytes(Deadline::in(kLook));
  }
  if (!over_.empty()) end(over_);
}

/// Is there still a rank to wait for?
void RankLinks::look_at(const Link& on, Clock::time_point begun) {
  if (interrupt_.requested()) throw Interrupted("interrupted");
  const auto now = Clock::now();
  for (const Link& link : links_)
    if ((link.gone && now - link.heard > kForLauncher) || (&link == &on && link.left))
      end(fmt::format("gone: {}; the run ends on all ranks", link.name));
  if (others_measure_) return;
  // A silent rank is told by its neighbours, each of which may have begun to wait a patience after
  // the next one. After that, ranks that all answer wait for each other.
  if (now - begun >= (steps() + 2) * patience_)
    end(fmt::format("no progress for {} s, though {} answers; the run ends on all ranks",
                    std::chrono::ceil<std::chrono::seconds>(now - begun).count(), on.name));
  if (!on.gone && now - std::max(begun, on.heard) >= patience_)
    end(fmt::format("no answer for {} s from {}; the run ends on all ranks",
                    std::chrono::ceil<std::chrono::seconds>(patience_).count(), on.name));
}

void RankLinks::tell_that_it_waits() {
  const auto now = Clock::now();
  if (now - told_ < tell_every_) return;
  told_ = now;
  for (Link& link : links_)
    if (link.out.empty() && !link.left) append(link, Kind::waiting, {});
}

/// Reads and writes what there is, until something has happened or the time is up.
void RankLinks::move_bytes(Deadline deadline) {
  std::vector<pollfd> descriptors{{interrupt_.fd(), POLLIN, 0}};
  std::vector<Link*> links;
  for (Link& link : links_) {
    if (!link.socket) continue;
    links.push_back(&link);
    const int events = POLLIN | (link.out.empty() ? 0 : POLLOUT);
    descriptors.push_back({link.socket.get(), static_cast<short>(events), 0});
  }
  if (poll(descriptors.data(), descriptors.size(), deadline.remaining_ms()) <= 0) return;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const short happened = descriptors[i + 1].revents;
    if ((happened & (POLLIN | POLLERR | POLLHUP)) != 0) read(*links[i]);
    if ((happened & POLLOUT) != 0 && links[i]->socket) write(*links[i]);
  }
}

void RankLinks::lose(Link& link) {
  link.gone = !link.left;
  link.heard = Clock::now();
  link.out.clear();
  link.socket.reset();
}

void RankLinks::read(Link& link) {
  std::array<char, 65536> bytes;
  const ssize_t count = recv(link.socket.get(), bytes.data(), bytes.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return lose(link);
  link.heard = Clock::now();
  link.in.append(bytes.data(), static_cast<std::size_t>(count));
  take_frames(link);
}

void RankLinks::take_frames(Link& link) {
  std::string_view left = link.in;
  while (left.size() >= kFrameHead) {
    std::string_view sealed = left;
    const std::uint32_t length = take_number(sealed);
    if (length > kMaxFrameBytes) return lose(link);
    if (sealed.size() < length) break;
    const std::optional<std::string> opened = link.opener.open(sealed.substr(0, length));
    if (!opened || opened->empty()) {
      if (over_.empty())
        over_ = fmt::format(
            "what came is not what {} sent: something on the path has changed, repeated, left out "
            "or added bytes; the run ends on all ranks",
            link.name);
      return lose(link);
    }
    take_frame(link, *opened);
    left = sealed.substr(length);
  }
  link.in.erase(0, link.in.size() - left.size());
}

/// @param opened  not empty
void RankLinks::take_frame(Link& link, std::string_view opened) {
  const std::string_view content = opened.substr(1);
  switch (static_cast<Kind>(opened.front())) {
    case Kind::message:
      link.received.emplace_back(content);
      break;
    case Kind::waiting:
      break;
    case Kind::over:
      if (over_.empty()) over_ = beginning(printable(std::string(content)), kMaxWhyBytes);
      break;
    case Kind::bye:
      link.left = true;
      break;
  }
}

void RankLinks::write(Link& link) {
  const ssize_t count = ::send(link.socket.get(), link.out.data(), link.out.size(), MSG_NOSIGNAL);
  if (count > 0) link.out.erase(0, static_cast<std::size_t>(count));
  if (count < 0 && errno != EAGAIN && errno != EINTR) lose(link);
}

/// Every rank passes it on once, so each hears of it however many are gone.
void RankLinks::end(const std::string& why) {
  over_ = why;
  if (!passed_on_) {
    passed_on_ = true;
    for (Link& link : links_)
      if (!link.left) append(link, Kind::over, over_);
    const Deadline deadline = Deadline::in(kForLastWords);
    while (!deadline.passed() && !all_are_written()) move_bytes(deadline);
  }
  throw MeasurementError(over_);
}

}  // namespace rdmameter
