// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: whatever a peer may send, through frames, JSON and fields. The first byte
// chooses the limit on messages; the rest is the stream.
//
//   build-asan/tests/fuzz/channel_fuzz -max_total_time=60 NEW_FINDS tests/fuzz/corpus/channel
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "core/wire/auth.h"
#include "core/wire/channel.h"
#include "core/wire/message.h"

namespace rdmameter {
namespace {

using namespace std::chrono_literals;

/// Takes one field in every way there is; only MeasurementError may come out.
template <class Take>
void refuse_or_take(Take&& take) {
  try {
    take();
  } catch (const MeasurementError& error) {
    // Texts go to terminals and into result files: nothing of the peer's may be in them.
    for (const char* at = error.what(); *at != '\0'; ++at) {
      if (*at < ' ' || *at > '~') std::abort();
    }
  }
}

/// As large a part of a message as any message has: a proof, and facts for people.
struct Proof {
  std::uint64_t number = 0;
  std::string proof;
  std::vector<std::uint32_t> qpns;
  std::optional<bool> on;
};

void list_fields(auto& fields, Is<Proof> auto& message) {
  fields("number", message.number, {.min = 3, .max = 0xffffff});
  fields("proof", message.proof, {.max_size = kProofChars});
  fields("qpns", message.qpns, {.max = 0xffffff, .max_size = 64});
  fields("on", message.on);
}

void take_fields(const nlohmann::ordered_json& message) {
  refuse_or_take([&] { type_of(message); });
  refuse_or_take([&] {
    const auto [number, proof, qpns, on] = read_message<Proof>(message);
    if (number < 3 || number > 0xffffff || qpns.size() > 64) std::abort();
    if (proof.size() > kProofChars || proof.find('\x1b') != std::string::npos) std::abort();
    const Challenge challenge{1, proof, proof};
    if (proof_holds("0123456789abcdef", Role::initiator, challenge, proof)) std::abort();
  });
  if (printable_json(message).dump().find('\x1b') != std::string::npos) std::abort();
}

void receive_all(std::string_view stream, std::size_t limit) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
  static InterruptSource interrupt;
  Channel channel({Descriptor(ends[0]), "the peer"}, interrupt, limit);
  {
    const Descriptor sender(ends[1]);
    // A stream that the socket's buffer does not hold is cut there, which is as good an input.
    [[maybe_unused]] const ssize_t sent =
        send(sender.get(), stream.data(), stream.size(), MSG_NOSIGNAL);
  }
  for (;;) {  // every turn takes at least four bytes, or throws
    const nlohmann::ordered_json message = channel.receive(Deadline::in(1s));
    if (nlohmann::ordered_json::parse(message.dump()) != message)
      std::abort();  // what is let in comes out
    take_fields(message);
  }
}

}  // namespace
}  // namespace rdmameter

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const bool proved = (data[0] & 1) != 0;
  try {
    rdmameter::receive_all(
        stream, proved ? rdmameter::kProvedMessageBytes : rdmameter::kUnprovedMessageBytes);
  } catch (const rdmameter::MeasurementError&) {  // the only way out
  }
  return 0;
}
