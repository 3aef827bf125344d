// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/bootstrap/open_links.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <list>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/base/printable.h"
#include "core/log/print.h"
#include "core/wire/auth.h"
#include "core/wire/channel.h"
#include "core/wire/message.h"
#include "core/wire/waiting_room.h"
#include "topologies/ranks/bootstrap/outgoing_call.h"
#include "topologies/ranks/bootstrap/pmix_job.h"
#include "topologies/ranks/bootstrap/rank_links.h"

namespace rdmameter {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kVersion = 2;  ///< of the messages below and of what follows
constexpr std::size_t kMaxNameBytes = 256;
/// What a stranger who has found the port may say and take, as with a server.
constexpr milliseconds kForStranger{2000};
/// For each of several addresses of a rank.
constexpr milliseconds kForAddress{3000};
/// A crowded rank hangs up on those that it has no place for. Who is hung up on tries again.
constexpr milliseconds kAgainFor{8000}, kAgainPause{200}, kForRefusal{1000};
/// A look at the clock, and at connections that have had their time.
constexpr milliseconds kLookAtTime{500};
constexpr int kAcceptedAtOnce = 64;
constexpr std::size_t kMaxWordBytes = 4096;

/// What a rank publishes.
struct Card {
  std::string host, secret;
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
};

void list_fields(auto& fields, Is<Card> auto& card) {
  fields("host", card.host, {.max_size = kMaxNameBytes});
  fields("secret", card.secret, {.min_size = kTokenMinChars, .max_size = kTokenMaxChars});
  fields("addresses", card.addresses, {.max_size = kMaxOwnAddresses});
  fields("port", card.port, {.min = 1});
}

/// The first message on a link.
struct LinkGreeting {
  Rank from = 0, to = 0;
  std::size_t step = 0;  ///< `to` is so many powers of two ahead
  std::string host, nonce;
};

void list_fields(auto& fields, Is<LinkGreeting> auto& greeting) {
  fields("from", greeting.from);
  fields("to", greeting.to);
  fields("step", greeting.step);
  fields("host", greeting.host, {.max_size = kMaxNameBytes});
  fields("nonce", greeting.nonce, {.min_size = kNonceChars, .max_size = kNonceChars});
}

/// The answer to it, the proof of both ends that they know the other's secret; or at any time why
/// the sender ends the run.
struct LinkWord {
  std::optional<std::string> nonce, proof, over;

  /// @throws MeasurementError  it is not there
  static const std::string& required(const std::optional<std::string>& word) {
    if (!word) throw MeasurementError("the peer's message: it is not what a rank says now");
    return *word;
  }
};

void list_fields(auto& fields, Is<LinkWord> auto& word) {
  fields("nonce", word.nonce, {.min_size = kNonceChars, .max_size = kNonceChars});
  fields("proof", word.proof, {.max_size = kProofChars});
  fields("over", word.over, {.max_size = kMaxWordBytes});
}

Listener listener_on(const std::vector<std::string>& addresses, bool only_this_machine,
                     const std::string& interface) {
  if (!interface.empty()) return Listener({addresses.front(), 0});
  if (only_this_machine) return Listener({loopback_host(), 0});
  try {
    return Listener({"::", 0});
  } catch (const std::exception&) {  // a machine without IPv6
    return Listener({"0.0.0.0", 0});
  }
}

/// One end of a connection, while its two ends make sure of each other:
///   who connects                               who listens
///   from, to, step, host, nonce   ->
///                                 <-           nonce
///   proof                         ->
///                                 <-           proof
/// or {"over"}, a reason, from an end that gives up.
struct Meeting {
  Role own;            ///< of this end: who connects is the initiator
  std::string secret;  ///< of the end that listens
  Rank peer = 0;
  std::string host = {};
  std::optional<Channel> channel = {};
  std::string nonce = make_nonce();
  std::string peer_nonce = {};

  std::string name() const { return fmt::format("rank {} on {}", peer, host); }
  /// @throws ChannelError, Interrupted
  void say(const auto& word, milliseconds limit) {
    channel->send(make_message("", word), Deadline::in(limit));
  }
  Challenge challenge() const {
    if (own == Role::initiator) return {kVersion, nonce, peer_nonce};
    return {kVersion, peer_nonce, nonce};
  }
  /// Of this end.
  LinkWord proof() const { return {.proof = make_proof(secret, own, challenge())}; }
  /// Is the word the other end's proof? @throws MeasurementError  it has none
  bool is_proved(const LinkWord& word) const {
    return proof_holds(secret, other_end(own), challenge(), LinkWord::required(word.proof));
  }
  SealKeys keys() const { return make_seal_keys(secret, own, challenge()); }
};

/// With a rank ahead, with which this one connects.
struct Ahead {
  enum class Stage : std::uint8_t { calling, greeted, proved, met };
  std::size_t step;
  Card card;
  Meeting meeting;
  Stage stage = Stage::calling;
  std::unique_ptr<OutgoingCall> call = {};
  std::optional<Deadline> again_until = {};  ///< it was hung up on
};

/// A process that has connected: a rank behind, or a stranger.
struct Caller {
  std::uint64_t place;  ///< in the waiting room
  Meeting meeting;
  std::optional<std::size_t> step = {};  ///< which it says; nothing: it has said nothing
  Deadline deadline = Deadline::in(kForStranger);
};

class LinkOpener {
 public:
  LinkOpener(PmixJob& job, const BootstrapOptions& options, const InterruptSource& interrupt)
      : job_(job), options_(options), interrupt_(interrupt), behind_(steps_), last_words_(steps_) {}

  OpenedLinks open() {
    if (steps_ == 0) return {};
    const bool only_this_machine = job_.local_size() == job_.size();
    own_ = {.host = own_host_name().value_or(""),
            .secret = make_token(),
            .addresses = only_this_machine && options_.interface.empty()
                             ? std::vector<std::string>()
                             : own_addresses(options_.interface)};
    Listener listener = listener_on(own_.addresses, only_this_machine, options_.interface);
    own_.port = listener.port();
    job_.publish(message_text(own_));
    for (std::size_t step = 0; step < steps_; ++step) {
      const Rank peer = (job_.rank() + (Rank{1} << step)) % job_.size();
      const auto card = read_message_text<Card>(job_.card_of(peer));
      ahead_.push_back(
          {.step = step,
           .card = card,
           .meeting = {
               .own = Role::initiator, .secret = card.secret, .peer = peer, .host = card.host}});
    }
    try {
      make_sure(listener);
    } catch (const MeasurementError& error) {
      say_why(told_by_other_.value_or(error.what()));
      throw;
    }
    OpenedLinks links;
    const auto opened = [](Meeting& meeting) -> OpenedLink {
      return {meeting.name(), std::move(meeting.channel->release().socket), meeting.keys()};
    };
    for (Ahead& ahead : ahead_) links.ahead.push_back(opened(ahead.meeting));
    for (auto& behind : behind_) links.behind.push_back(opened(*behind));
    return links;
  }

 private:
  Rank behind_by(std::size_t step) const {
    return (job_.rank() + job_.size() - (Rank{1} << step)) % job_.size();
  }

  /// Where a rank of another machine may be found. An address that this machine has, too, is that
  /// of a bridge or the like, and leads nowhere else.
  std::vector<Address> ways_to(const Card& card) const {
    std::vector<Address> ways;
    const bool here = card.host == own_.host;
    if (here && options_.interface.empty()) ways.push_back({loopback_host(), card.port});
    for (const std::string& address : card.addresses)
      if (here || std::ranges::find(own_.addresses, address) == own_.addresses.end())
        ways.push_back({address, card.port});
    for (Address& way : ways) way.remedy = "has that rank ended, or another machine this address?";
    return ways;
  }

  /// @param refused_until  how long to retry where no server is listening
  Connection connect(const Ahead& ahead, Deadline refused_until,
                     const InterruptSource& interrupt) const {
    const std::vector<Address> ways = ways_to(ahead.card);
    std::string why;
    for (const Address& way : ways) try {
        return connect_to(way, ways.size() > 1 ? refused_until.within(kForAddress) : refused_until,
                          interrupt);
      } catch (const std::runtime_error& error) {
        if (interrupt.requested()) throw;
        why += fmt::format("{}{}", why.empty() ? "" : " ", error.what());  // a sentence each
      }
    throw MeasurementError(
        "{} cannot be reached by TCP from {}, which ranks need to exchange addresses: {} Name the "
        "network that leads there: --bootstrap-if",
        ahead.meeting.name(), own_.host, why.empty() ? "it has no address." : why);
  }

  /// @param pause  before it connects
  void call(Ahead& ahead, milliseconds pause) {
    ahead.stage = Ahead::Stage::calling;
    // A rank that has hung up, and then refuses, has ended.
    const milliseconds patience = ahead.again_until ? kForRefusal : options_.patience;
    ahead.call = std::make_unique<OutgoingCall>(
        [this, &ahead, pause, patience](const InterruptSource& stop) {
          if (pause.count() > 0) wait_for(-1, 0, Deadline::in(pause), stop);
          return connect(ahead, Deadline::in(patience), stop);
        },
        call_ended_);
  }

  void greet(Ahead& ahead) {
    const std::unique_ptr<OutgoingCall> call = std::move(ahead.call);
    Meeting& meeting = ahead.meeting;
    try {
      meeting.channel.emplace(call->result(), interrupt_);
    } catch (const MeasurementError& error) {
      if (!ahead.again_until) throw;
      fail_as_gone(meeting, error);
    }
    meeting.nonce = make_nonce();
    ahead.stage = Ahead::Stage::greeted;
    try {
      meeting.say(LinkGreeting{job_.rank(), meeting.peer, ahead.step, own_.host, meeting.nonce},
                  kForStranger);
    } catch (const ChannelError& error) {
      try_again(ahead, error);
    }
  }

  void try_again(Ahead& ahead, const ChannelError& error) {
    if (!ahead.again_until) ahead.again_until = Deadline::in(kAgainFor);
    if (ahead.again_until->passed() || error.cause == ChannelError::Cause::protocol)
      fail_as_gone(ahead.meeting, error);
    ahead.meeting.channel.reset();
    call(ahead, kAgainPause);
  }

  [[noreturn]] static void fail_as_gone(const Meeting& meeting, const MeasurementError& error) {
    throw MeasurementError("gone: {}; the run ends on all ranks ({})", meeting.name(),
                           error.what());
  }

  /// What a rank ahead says that has been connected with, until it is sure who it is.
  void hear_ahead(Ahead& ahead) {
    try {
      while (ahead.stage != Ahead::Stage::met) {
        const auto message = ahead.meeting.channel->try_receive();
        if (!message) return;
        take_from_ahead(ahead, read_message<LinkWord>(*message));
      }
    } catch (const ChannelError& error) {
      try_again(ahead, error);
    }
  }

  void take_from_ahead(Ahead& ahead, const LinkWord& word) {
    Meeting& meeting = ahead.meeting;
    if (word.over) {  // unauthenticated
      told_by_other_ = word.over;
      throw MeasurementError(
          "what answers for {} ended the run before it proved that it is a rank of this job: "
          "\"{}\"",
          meeting.name(), *word.over);
    }
    if (ahead.stage == Ahead::Stage::greeted) {
      meeting.peer_nonce = LinkWord::required(word.nonce);
      meeting.say(meeting.proof(), kForStranger);
      ahead.stage = Ahead::Stage::proved;
      return;
    }
    if (!meeting.is_proved(word))
      throw MeasurementError(
          "what answers for {} is no rank of this job; the run ends on all ranks", meeting.name());
    ahead.stage = Ahead::Stage::met;
  }

  void accept_callers(Listener& listener) {
    for (int i = 0; i < kAcceptedAtOnce; ++i) {
      std::optional<Connection> connection = listener.accept(Deadline::in({}), interrupt_);
      if (!connection) break;
      room_.add(std::move(*connection));
    }
    while (std::optional<WaitingRoom::Guest> guest = room_.enter()) {
      Caller& caller = callers_.emplace_back(Caller{
          .place = guest->place, .meeting = {.own = Role::responder, .secret = own_.secret}});
      caller.meeting.channel.emplace(std::move(guest->connection), interrupt_);
    }
  }

  /// Takes what it has said.
  /// @return  does it stay? Not who has proved itself, is gone, says what no rank does, or is slow.
  bool hear(Caller& caller) {
    try {
      while (const auto message = caller.meeting.channel->try_receive()) {
        if (caller.step) {
          take_proof(caller, read_message<LinkWord>(*message));
          return false;
        }
        if (!take_greeting(caller, read_message<LinkGreeting>(*message))) return false;
      }
      return !caller.deadline.passed();
    } catch (const MeasurementError&) {
      return false;
    }
  }

  /// @return  was it that of a rank that is awaited?
  bool take_greeting(Caller& caller, const LinkGreeting& greeting) {
    Meeting& meeting = caller.meeting;
    meeting.peer = greeting.from;
    meeting.host = greeting.host;
    meeting.peer_nonce = greeting.nonce;
    const std::size_t step = greeting.step;
    if (step >= steps_ || greeting.to != job_.rank() || meeting.peer != behind_by(step) ||
        behind_[step])
      return false;
    caller.step = step;
    meeting.say(LinkWord{.nonce = meeting.nonce}, {});
    return true;
  }

  void take_proof(Caller& caller, const LinkWord& word) {
    Meeting& meeting = caller.meeting;
    if (word.over) {  // unauthenticated
      last_words_[*caller.step] = *word.over;
      return;
    }
    if (!meeting.is_proved(word)) {
      if (!std::exchange(imposter_told_, true))  // a flood of them is one line
        tell("rdmameter: {}: what connected as {} is no rank of this job, and is not listened to\n",
             meeting.channel->peer(), printable(meeting.name()));
      return;
    }
    if (behind_[*caller.step]) return;
    meeting.say(meeting.proof(), {});
    behind_[*caller.step] = std::move(meeting);
  }

  bool all_met() const {
    const auto met = [](const Ahead& ahead) { return ahead.stage == Ahead::Stage::met; };
    return std::ranges::all_of(ahead_, met) &&
           std::ranges::all_of(behind_, [](const auto& one) { return one.has_value(); });
  }

  std::string no_answer_from(const std::string& name) const {
    return fmt::format("no answer for {} s from {}; the run ends on all ranks",
                       std::chrono::ceil<std::chrono::seconds>(options_.patience).count(), name);
  }

  /// @param deadline  of all ranks; a call has its own
  void look_at_time(Deadline deadline) const {
    const auto calling = [](const Ahead& one) { return one.stage == Ahead::Stage::calling; };
    if (!deadline.passed() || std::ranges::any_of(ahead_, calling)) return;
    for (std::size_t step = 0; step < steps_; ++step) {
      if (behind_[step]) continue;
      std::string why = no_answer_from(job_.name_of(behind_by(step)));
      if (!last_words_[step].empty())
        why += fmt::format(". What connected as that rank and proved nothing had said: \"{}\"",
                           last_words_[step]);
      throw MeasurementError(why);
    }
    for (const Ahead& ahead : ahead_)
      if (ahead.stage != Ahead::Stage::met)
        throw MeasurementError(no_answer_from(ahead.meeting.name()));
  }

  /// Waits until something arrives on a connection, and takes it.
  void hear_all(Listener& listener) {
    std::vector<pollfd> descriptors{
        {interrupt_.fd(), POLLIN, 0}, {call_ended_.fd(), POLLIN, 0}, {listener.fd(), POLLIN, 0}};
    for (const Ahead& ahead : ahead_) {
      const bool heard = ahead.meeting.channel && ahead.stage != Ahead::Stage::met;
      descriptors.push_back({heard ? ahead.meeting.channel->fd() : -1, POLLIN, 0});
    }
    for (const Caller& caller : callers_)
      descriptors.push_back({caller.meeting.channel->fd(), POLLIN, 0});
    Deadline until = Deadline::in(kLookAtTime);
    if (const Deadline next = room_.hang_up(); !next.is_never())
      until = until.within(next.remaining());
    poll(descriptors.data(), descriptors.size(), until.remaining_ms());
    if (interrupt_.requested()) throw Interrupted("interrupted");
    std::size_t at = descriptors.size() - callers_.size() - ahead_.size();
    for (Ahead& ahead : ahead_)
      if (descriptors[at++].revents != 0) hear_ahead(ahead);
    for (auto caller = callers_.begin(); caller != callers_.end();) {
      if (descriptors[at++].revents != 0) room_.spoken(caller->place);
      const bool stays = hear(*caller);
      if (!stays) room_.leave(caller->place);
      caller = stays ? std::next(caller) : callers_.erase(caller);
    }
    call_ended_.clear();
    for (Ahead& ahead : ahead_)
      if (ahead.call && ahead.call->ended()) greet(ahead);
    accept_callers(listener);
  }

  void make_sure(Listener& listener) {
    const Deadline deadline = Deadline::in(options_.patience);
    for (Ahead& ahead : ahead_) call(ahead, {});
    while (!all_met()) {
      look_at_time(deadline);
      hear_all(listener);
    }
  }

  /// To those that still wait.
  void say_why(const std::string& why) {
    const auto say = [&](Meeting& meeting) {
      if (!meeting.channel || !meeting.channel->usable()) return;
      try {
        meeting.say(LinkWord{.over = why}, kForStranger);
      } catch (const std::exception&) {  // it does not wait any more
      }
    };
    // Who has been met believes what is sealed, and reads that alone.
    const auto say_sealed = [&](Meeting& meeting) {
      const std::string frame = frame_that_it_is_over(meeting.keys(), why);
      [[maybe_unused]] const ssize_t sent =
          ::send(meeting.channel->fd(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    };
    for (Ahead& ahead : ahead_)
      if (ahead.stage == Ahead::Stage::met)
        say_sealed(ahead.meeting);
      else
        say(ahead.meeting);
    for (std::optional<Meeting>& meeting : behind_)
      if (meeting) say_sealed(*meeting);
    for (Caller& caller : callers_)
      if (caller.step) say(caller.meeting);
  }

  PmixJob& job_;
  const BootstrapOptions& options_;
  const InterruptSource& interrupt_;
  /// One for each 2^k below the number of ranks.
  const std::size_t steps_ = static_cast<std::size_t>(std::bit_width(job_.size() - 1));
  Card own_;
  EventFd call_ended_;
  std::vector<Ahead> ahead_;
  WaitingRoom room_;
  std::list<Caller> callers_;
  std::vector<std::optional<Meeting>> behind_;  ///< those that have proved who they are
  std::vector<std::string> last_words_;         ///< of those that say to be them, and gave up
  /// How another rank, or who says to be one, ends the run: passed on without what is around it
  /// in this rank's error.
  std::optional<std::string> told_by_other_;
  bool imposter_told_ = false;
};

}  // namespace

OpenedLinks open_links(PmixJob& job, const BootstrapOptions& options,
                       const InterruptSource& interrupt) {
  return LinkOpener(job, options, interrupt).open();
}

}  // namespace rdmameter
