// SPDX-License-Identifier: Apache-2.0
#include "core/wire/channel.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace rdmameter {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kGrowBytes = 16 * 1024;  ///< read, then grow: a claimed length costs nothing

using Cause = ChannelError::Cause;

std::array<char, kHeaderBytes> encode_length(std::size_t bytes) noexcept {
  return std::bit_cast<std::array<char, kHeaderBytes>>(htonl(static_cast<std::uint32_t>(bytes)));
}

std::size_t decode_length(const std::array<char, kHeaderBytes>& header) noexcept {
  return ntohl(std::bit_cast<std::uint32_t>(header));
}

/// perftest begins with its version, "6.06", in 16 bytes (exchange_versions() in its
/// src/perftest_communication.c). As a length that is far beyond any limit of ours.
bool is_perftest(const std::array<char, kHeaderBytes>& header) noexcept {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return digit(header[0]) && header[1] == '.' && digit(header[2]) && digit(header[3]);
}

/// What a message's text demands of its parser.
struct Shape {
  unsigned depth = 0;                  ///< of nested arrays and objects
  std::vector<std::uint32_t> members;  ///< of each object down to kMessageDepth, in their order
  std::size_t parsed_bytes = 0;        ///< at most, beyond the text of strings
};

/// Of a character outside strings. Each comma, colon and bracket stands for a value; what its kind
/// takes is what nlohmann/json and malloc() of 64 bits take, also while arrays and objects grow.
std::size_t parsed_bytes_of(char each) noexcept {
  constexpr std::size_t kArrayElement = 48, kObjectMember = 144, kContainer = 64, kString = 48;
  switch (each) {
    case ',':
      return kArrayElement;
    case ':':
      return kObjectMember;
    case '[':
    case '{':
      return kContainer;
    case '"':
      return kString;
    default:
      return 0;
  }
}

/// Looks at brackets, commas and colons outside strings. The parser itself does not recurse, but
/// whatever walks its result later (dump, comparison) does.
Shape shape_of(std::string_view text) {
  Shape shape;
  unsigned depth = 0;
  std::array<std::size_t, kMessageDepth + 1> object{};  // by depth, where an object is open there
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char each = text[at];
    if (in_string) {
      if (each == '\\') ++at;
      if (each == '"') in_string = false;
      continue;
    }
    shape.parsed_bytes += parsed_bytes_of(each);
    if (each == '"') in_string = true;
    if (each == '[' || each == '{') {
      shape.depth = std::max(shape.depth, ++depth);
      if (each == '{' && depth <= kMessageDepth) {
        object[depth] = shape.members.size();
        shape.members.push_back(0);
      }
    }
    if ((each == ']' || each == '}') && depth > 0) --depth;
    if (each == ':' && depth <= kMessageDepth && !shape.members.empty())
      ++shape.members[object[depth]];
  }
  return shape;
}

/// Makes JSON of what the parser finds (nlohmann's SAX interface). The library's own maker does not
/// know how many members an object will have, and copies all of them whenever it grows.
class MessageMaker {
 public:
  /// @param members  of each object, in their order; borrowed
  explicit MessageMaker(std::span<const std::uint32_t> members) : members_(members) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }  // no text has it
  bool start_object(std::size_t) {
    open(Json::object());
    open_.back()->get_ref<Json::object_t&>().reserve(members_[objects_++]);
    return true;
  }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  /// @return  false, which ends the parsing: the object has that key
  bool key(std::string& key) {
    const auto& object = open_.back()->get_ref<const Json::object_t&>();
    key_ = std::move(key);
    return std::ranges::find(object, key_, &Json::object_t::value_type::first) == object.end();
  }
  bool parse_error(std::size_t, const std::string&, const auto& error) { throw error; }

  Json take() { return std::move(whole_); }

 private:
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  Json& place(Json value) {
    if (open_.empty()) return whole_ = std::move(value);
    if (open_.back()->is_array()) return open_.back()->emplace_back(std::move(value));
    auto& object = open_.back()->get_ref<Json::object_t&>();
    return object.emplace_back(std::move(key_), std::move(value)).second;
  }

  const std::span<const std::uint32_t> members_;
  std::size_t objects_ = 0;
  Json whole_;
  std::vector<Json*> open_;  ///< from the outermost object or array to the innermost
  std::string key_;          ///< of the next value
};

}  // namespace

/// How far a message has come, for texts.
struct Channel::Progress {
  bool sending = false;
  std::size_t done = 0;
  std::size_t total = 0;  ///< 0: the length has not come yet

  std::string text() const {
    if (total == 0) return fmt::format("{} of the {} bytes of a length", done, kHeaderBytes);
    return fmt::format("{} of the {} bytes of a message", done, total);
  }
};

Json parse_message(std::string_view text, const std::string& peer, std::size_t max_parsed_bytes) {
  const auto refuse = [&peer](const std::string& why) {
    return ChannelError(
        Cause::protocol,
        fmt::format("{} sent something that is not a message of rdmameter: {}", peer, why));
  };
  const Shape shape = shape_of(text);
  if (shape.depth > kMessageDepth)
    throw refuse(fmt::format("it is nested more than {} deep", kMessageDepth));
  if (!shape.members.empty() && std::ranges::max(shape.members) > kMessageMembers)
    throw refuse(fmt::format("an object in it has more than {} members", kMessageMembers));
  if (shape.parsed_bytes > max_parsed_bytes)
    throw refuse(fmt::format("it has so many values that they would take more than {} MiB",
                             max_parsed_bytes >> 20));
  // The parser takes a NUL for the end and would not look at what follows.
  if (text.find('\0') != std::string_view::npos) throw refuse("it holds a NUL");
  MessageMaker maker(shape.members);
  try {
    if (!Json::sax_parse(text.begin(), text.end(), &maker))
      throw refuse("an object in it has a key twice");
  } catch (const nlohmann::json::parse_error& error) {
    throw refuse(fmt::format("bad JSON or bad UTF-8 at byte {} of {}",
                             std::min(error.byte, text.size()), text.size()));
  } catch (const nlohmann::json::exception&) {
    throw refuse("a number is out of range");
  }
  Json message = maker.take();
  if (!message.is_object()) throw refuse("it is not a JSON object");
  return message;
}

Channel::Channel(Connection connection, const InterruptSource& interrupt,
                 std::size_t max_message_bytes)
    : connection_(std::move(connection)),
      interrupt_(&interrupt),
      max_message_bytes_(max_message_bytes) {}

void Channel::fail(Cause cause, const std::string& what) {
  usable_ = false;
  throw ChannelError(cause, what);
}

void Channel::fail_errno(int error, const Progress& progress) {
  const char* const within = progress.done > 0 ? " in the middle of a message" : "";
  // A send to a peer that has closed is a reset like any other.
  const bool reset = error == ECONNRESET || error == EPIPE;
  fail(Cause::reset,
       fmt::format("the connection to {} broke{}: {}. {}", peer(), within, std::strerror(error),
                   reset ? "The process there has ended or was killed: see its stderr."
                         : "Check the host and the network."));
}

void Channel::fail_closed(const Progress& progress) {
  const bool within = progress.done > 0;
  if (opener_ && !opener_->ended()) {
    fail(Cause::reset,
         fmt::format("the connection to {} broke{}: it was closed before the message that ends the "
                     "session. Either the process there has ended or was killed (see its stderr), "
                     "or something on the path, a proxy or a firewall, has cut the connection.",
                     peer(), within ? " in the middle of a message" : ""));
  }
  fail(Cause::closed,
       within ? fmt::format("{} closed the connection in the middle of a message, after {}", peer(),
                            progress.text())
              : fmt::format("{} has closed the connection", peer()));
}

void Channel::fail_seal() {
  opener_->refuse();
  fail(Cause::protocol,
       fmt::format("what came is not what {} sent: something on the path has changed, repeated, "
                   "left out or added bytes of this session. Find out what stands between the two "
                   "ends (a proxy, a tunnel, a stranger), and measure without it.",
                   peer()));
}

void Channel::await(short events, Deadline deadline, const Progress& progress) {
  switch (wait_for(fd(), events, deadline, *interrupt_)) {
    case Waited::ready:
    case Waited::woken:
      return;
    case Waited::interrupted:
      if (progress.done > 0) usable_ = false;
      throw Interrupted("interrupted while {} {}", progress.sending ? "sending to" : "waiting for",
                        peer());
    case Waited::deadline:
      break;
  }
  if (progress.sending) {
    fail(Cause::deadline,
         fmt::format("{} took only {} in time: is it stopped?", peer(), progress.text()));
  }
  if (progress.done == 0) {
    fail(Cause::deadline,
         fmt::format("{} has not answered in time: is it stopped, or the network down?", peer()));
  }
  fail(
      Cause::deadline,
      fmt::format("{} sent only {} in time: is it stopped, or does something on the path hold back "
                  "or change what it sends?",
                  peer(), progress.text()));
}

void Channel::seal(const SealKeys& keys) {
  sealer_.emplace(keys.send);
  opener_.emplace(keys.receive);
}

void Channel::transmit(const Json& message, Deadline deadline, bool last) {
  std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (body.size() >
      std::min<std::size_t>(max_message_bytes_, std::numeric_limits<std::uint32_t>::max())) {
    // Nothing was sent, so the channel stays usable: this case alone cannot be.
    throw Unsupported(
        "a message of {} bytes to {} is longer than the {} that it accepts: use fewer --qps or "
        "--threads",
        body.size(), peer(), max_message_bytes_);
  }
  // A sealed message counts once its first byte is on its way: until then another one may
  // take its place.
  std::optional<Sealer> sealer = sealer_;
  if (sealer) body = sealer->seal(body, last);
  const auto header = encode_length(body.size());
  std::string frame;
  frame.reserve(header.size() + body.size());
  frame.append(header.data(), header.size()).append(body);

  Progress progress{.sending = true, .done = 0, .total = frame.size()};
  while (progress.done < frame.size()) {
    // MSG_NOSIGNAL: a peer that is gone is an error to report, not a SIGPIPE to die of.
    const ssize_t sent = ::send(fd(), frame.data() + progress.done, frame.size() - progress.done,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      if (progress.done == 0) sealer_ = sealer;
      progress.done += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      await(POLLOUT, deadline, progress);
    } else if (errno != EINTR) {
      fail_errno(errno, progress);
    }
  }
}

Channel::Progress Channel::received() const noexcept {
  const bool whole_header = incoming_.header_bytes == kHeaderBytes;
  return {.sending = false,
          .done = incoming_.header_bytes + incoming_.body_bytes,
          .total = whole_header ? kHeaderBytes + incoming_.length : 0};
}

/// @return  false: the rest has not come yet
bool Channel::read_to_end(char* to, std::size_t bytes, std::size_t& got) {
  while (got < bytes) {
    const ssize_t received_now = recv(fd(), to + got, bytes - got, MSG_DONTWAIT);
    if (received_now > 0)
      got += static_cast<std::size_t>(received_now);
    else if (received_now == 0)
      fail_closed(received());
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return false;
    else if (errno != EINTR)
      fail_errno(errno, received());
  }
  return true;
}

void Channel::check_length(std::size_t length) {
  if (length <= max_message_bytes_ + (opener_ ? opener_->overhead() : 0)) return;
  if (opener_) fail_seal();
  if (is_perftest(incoming_.header))
    fail(Cause::protocol,
         fmt::format("{} is perftest, which rdmameter cannot measure with: run rdmameter at both "
                     "ends (there: `rdmameter perftest ib_write_bw` and so on take perftest's "
                     "options), or perftest at both",
                     peer()));
  fail(Cause::protocol,
       fmt::format("{} announced a message of {} bytes where at most {} are accepted: it is no "
                   "rdmameter, or another version",
                   peer(), length, max_message_bytes_));
}

/// @return  is the whole of it there?
bool Channel::read_frame() {
  Incoming& in = incoming_;
  if (in.header_bytes < kHeaderBytes) {
    if (!read_to_end(in.header.data(), kHeaderBytes, in.header_bytes)) return false;
    in.length = decode_length(in.header);
  }
  check_length(in.length);
  while (in.body_bytes < in.length) {
    in.body.resize(std::min(in.length, in.body_bytes + kGrowBytes));
    if (!read_to_end(in.body.data(), in.body.size(), in.body_bytes)) return false;
  }
  return true;
}

std::optional<Json> Channel::try_receive() {
  if (!read_frame()) return std::nullopt;
  std::string body = std::exchange(incoming_, {}).body;
  if (opener_) {
    std::optional<std::string> opened = opener_->open(body);
    if (!opened) fail_seal();
    body = std::move(*opened);
  }
  try {
    return parse_message(body, peer());
  } catch (const ChannelError&) {
    usable_ = false;
    throw;
  }
}

Json Channel::receive(Deadline deadline) {
  for (;;) {
    if (std::optional<Json> message = try_receive()) return std::move(*message);
    await(POLLIN, deadline, received());
  }
}

Waited Channel::wait_readable(Deadline deadline, const EventFd* wake) const noexcept {
  return wait_for(fd(), POLLIN, deadline, *interrupt_, wake);
}

}  // namespace rdmameter
