// SPDX-License-Identifier: Apache-2.0
// Two ends of a connection in one process: a Channel under test and a raw socket that misbehaves.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/wire/channel.h"

namespace rdmameter {

using namespace std::chrono_literals;

inline Deadline soon() {
  return Deadline::in(5s);
}  // generous: machines are shared

inline std::pair<Descriptor, Descriptor> socket_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw std::runtime_error("socketpair");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

struct Pair {
  explicit Pair(std::size_t max_message_bytes = kUnprovedMessageBytes)
      : Pair(socket_pair(), max_message_bytes) {}

  /// The other end sends these bytes, whatever they are.
  void raw(std::string_view bytes) const {
    ASSERT_EQ(::send(other.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  InterruptSource interrupt;
  Descriptor other;
  Channel channel;

 private:
  Pair(std::pair<Descriptor, Descriptor> ends, std::size_t max_message_bytes)
      : other(std::move(ends.second)),
        channel({std::move(ends.first), "the peer"}, interrupt, max_message_bytes) {}
};

/// A frame around any text.
inline std::string framed(std::string_view body) {
  const auto bytes = static_cast<std::uint32_t>(body.size());
  std::string frame{static_cast<char>(bytes >> 24), static_cast<char>(bytes >> 16 & 0xff),
                    static_cast<char>(bytes >> 8 & 0xff), static_cast<char>(bytes & 0xff)};
  return frame.append(body);
}

/// Seconds that `action` took.
template <class Action>
double seconds_of(Action&& action) {
  const auto before = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

}  // namespace rdmameter
