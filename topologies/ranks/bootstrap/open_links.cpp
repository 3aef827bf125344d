// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/bootstrap/open_links.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/error.h"
#include "core/wire/auth.h"
#include "core/wire/channel.h"
#include "core/wire/fields.h"
#include "topologies/ranks/bootstrap/own_addresses.h"
#include "topologies/ranks/bootstrap/pmix_job.h"

namespace rdmameter {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr std::uint32_t kVersion = 1;  ///< of the messages below
constexpr std::size_t kMaxNameBytes = 256;
/// What a stranger who has found the port may say and take, as with a server.
constexpr milliseconds kForStranger{2000};
/// For each of several addresses of a rank.
constexpr milliseconds kForAddress{3000};
/// A rank that waits for one that waits for a silent one hears from it who that is.
constexpr milliseconds kForReason{3000};
constexpr std::size_t kMaxReasonBytes = 4096;

/// What a rank publishes.
struct Card {
  std::string host, secret;
  std::vector<std::string> addresses;
  std::uint16_t port = 0;
};

std::string to_text(const Card& card) {
  return json{{"host", card.host},
              {"secret", card.secret},
              {"addresses", card.addresses},
              {"port", card.port}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Card card_from(const std::string& text) {
  const json message = json::parse(text, nullptr, false);
  Card card{.host = require_string(message, "host", kMaxNameBytes),
            .secret = require_string(message, "secret", kTokenMaxChars, kTokenMinChars),
            .port = require_uint_as<std::uint16_t>(message, "port", 1)};
  for (const json& address : require_array(message, "addresses", kMaxOwnAddresses))
    if (address.is_string()) card.addresses.push_back(address.get<std::string>());
  return card;
}

std::string name_of(Rank rank, const std::string& host) {
  return fmt::format("rank {} on {}", rank, host);
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

/// One end of a connection, while its two ends make sure of each other. All ranks do each step with
/// all their links before the next one: then none waits for a rank that waits for it.
struct Meeting {
  Rank peer = 0;
  std::string host;
  std::optional<Channel> channel = {};
  std::string nonce = make_nonce();
  std::string peer_nonce = {};

  std::string name() const { return name_of(peer, host); }
};

class LinkOpener {
 public:
  LinkOpener(PmixJob& job, const BootstrapOptions& options, const InterruptSource& interrupt)
      : job_(job), options_(options), interrupt_(interrupt) {
    for (Rank distance = 1; distance < job.size(); distance *= 2) ++steps_;
  }

  OpenedLinks open();

 private:
  Rank ahead_by(std::size_t step) const { return (job_.rank() + (Rank{1} << step)) % job_.size(); }
  Rank behind_by(std::size_t step) const {
    return (job_.rank() + job_.size() - (Rank{1} << step)) % job_.size();
  }
  Deadline patience() const { return Deadline::in(options_.patience); }
  std::vector<Address> ways_to(const Card& card) const;
  Connection connect(const Card& card, Rank rank) const;
  void greet(std::size_t step);
  void await_greetings(Listener& listener);
  bool take_greeting(Connection connection);
  std::string no_answer_from(const std::string& name) const;
  json hear(Meeting& meeting, Deadline deadline) const;
  static void require_proof(const std::string& secret, const Meeting& meeting, Role own,
                            const json& message);
  void send_proof(const std::string& secret, Meeting& meeting, Role own) const;
  void make_sure(Listener& listener);
  void say_why(const std::string& why);
  static Challenge challenge(const Meeting& meeting, Role own);

  PmixJob& job_;
  const BootstrapOptions& options_;
  const InterruptSource& interrupt_;
  std::size_t steps_ = 0;
  Card own_;
  std::vector<Card> cards_;  ///< of the ranks ahead
  std::vector<Meeting> ahead_;
  std::vector<std::optional<Meeting>> behind_;
};

/// Where a rank of another machine may be found. An address that this machine has, too, is that of
/// a bridge or the like, and leads nowhere else.
std::vector<Address> LinkOpener::ways_to(const Card& card) const {
  std::vector<Address> ways;
  const bool here = card.host == own_.host;
  if (here && options_.interface.empty()) ways.push_back({loopback_host(), card.port});
  for (const std::string& address : card.addresses)
    if (here || std::ranges::find(own_.addresses, address) == own_.addresses.end())
      ways.push_back({address, card.port});
  return ways;
}

Connection LinkOpener::connect(const Card& card, Rank rank) const {
  std::vector<Address> ways = ways_to(card);
  for (Address& way : ways) way.remedy = "has that rank ended, or another machine this address?";
  std::string why;
  for (const Address& way : ways) try {
      const Deadline deadline = patience();
      return connect_to(way, ways.size() > 1 ? deadline.within(kForAddress) : deadline, interrupt_);
    } catch (const std::runtime_error& error) {
      if (interrupt_.requested()) throw;
      why += fmt::format("{}{}", why.empty() ? "" : " ", error.what());  // a sentence each
    }
  throw MeasurementError(fmt::format(
      "{} cannot be reached by TCP from {}, which ranks need to exchange addresses: {} Name the "
      "network that leads there: --bootstrap-if",
      name_of(rank, card.host), own_.host, why.empty() ? "it has no address." : why));
}

void LinkOpener::greet(std::size_t step) {
  Meeting& meeting =
      ahead_.emplace_back(Meeting{.peer = ahead_by(step), .host = cards_[step].host});
  meeting.channel.emplace(connect(cards_[step], meeting.peer), interrupt_);
  meeting.channel->send({{"from", job_.rank()},
                         {"to", meeting.peer},
                         {"step", step},
                         {"host", own_.host},
                         {"nonce", meeting.nonce}},
                        patience());
}

/// @return  was it that of a rank that is awaited?
bool LinkOpener::take_greeting(Connection connection) {
  Meeting meeting;
  try {
    meeting.channel.emplace(std::move(connection), interrupt_);
    const json greeting = meeting.channel->receive(Deadline::in(kForStranger));
    meeting.peer = require_uint_as<Rank>(greeting, "from");
    meeting.host = require_string(greeting, "host", kMaxNameBytes);
    meeting.peer_nonce = require_string(greeting, "nonce", kNonceChars, kNonceChars);
    const std::size_t step = require_uint(greeting, "step", 0, steps_ - 1);
    if (require_uint_as<Rank>(greeting, "to") != job_.rank() || meeting.peer != behind_by(step) ||
        behind_[step])
      return false;
    meeting.channel->send({{"nonce", meeting.nonce}}, Deadline::in(kForStranger));
    behind_[step] = std::move(meeting);
    return true;
  } catch (const MeasurementError&) {  // somebody else
    return false;
  }
}

void LinkOpener::await_greetings(Listener& listener) {
  behind_.resize(steps_);
  const Deadline deadline = patience();
  for (std::size_t there = 0; there < steps_;) {
    auto connection = listener.accept(deadline, interrupt_);
    if (interrupt_.requested()) throw Interrupted("interrupted");
    if (connection) {
      there += take_greeting(std::move(*connection));
    } else if (deadline.passed()) {
      std::size_t missing = 0;
      while (behind_[missing]) ++missing;
      throw MeasurementError(no_answer_from(job_.name_of(behind_by(missing))));
    }
  }
}

std::string LinkOpener::no_answer_from(const std::string& name) const {
  return fmt::format("no answer for {} s from {}; the run ends on all ranks",
                     std::chrono::ceil<std::chrono::seconds>(options_.patience).count(), name);
}

json LinkOpener::hear(Meeting& meeting, Deadline deadline) const {
  try {
    json message = meeting.channel->receive(deadline);
    if (message.contains("over"))
      throw MeasurementError(require_string(message, "over", kMaxReasonBytes));
    return message;
  } catch (const ChannelError& error) {
    if (error.cause != ChannelError::Cause::deadline)
      throw MeasurementError(
          fmt::format("gone: {}; the run ends on all ranks ({})", meeting.name(), error.what()));
    throw MeasurementError(no_answer_from(meeting.name()));
  }
}

/// @param own  who connected is the initiator
Challenge LinkOpener::challenge(const Meeting& meeting, Role own) {
  if (own == Role::initiator) return {kVersion, meeting.nonce, meeting.peer_nonce};
  return {kVersion, meeting.peer_nonce, meeting.nonce};
}

/// @param own  this end's role
void LinkOpener::require_proof(const std::string& secret, const Meeting& meeting, Role own,
                               const json& message) {
  const Role prover = own == Role::initiator ? Role::responder : Role::initiator;
  if (!proof_holds(secret, prover, challenge(meeting, own),
                   require_string(message, "proof", kProofChars)))
    throw MeasurementError(fmt::format(
        "what connected as {} is no rank of this job; the run ends on all ranks", meeting.name()));
}

void LinkOpener::send_proof(const std::string& secret, Meeting& meeting, Role own) const {
  meeting.channel->send({{"proof", make_proof(secret, own, challenge(meeting, own))}}, patience());
}

/// Each loop is a step that all ranks take before the next one.
void LinkOpener::make_sure(Listener& listener) {
  const Deadline soon = patience(), later = Deadline::in(options_.patience + kForReason);
  for (std::size_t step = 0; step < steps_; ++step) greet(step);
  await_greetings(listener);
  for (std::size_t step = 0; step < steps_; ++step) {
    Meeting& meeting = ahead_[step];
    meeting.peer_nonce = require_string(hear(meeting, soon), "nonce", kNonceChars, kNonceChars);
    send_proof(cards_[step].secret, meeting, Role::initiator);
  }
  for (std::optional<Meeting>& meeting : behind_) {
    require_proof(own_.secret, *meeting, Role::responder, hear(*meeting, later));
    send_proof(own_.secret, *meeting, Role::responder);
  }
  for (std::size_t step = 0; step < steps_; ++step)
    require_proof(cards_[step].secret, ahead_[step], Role::initiator, hear(ahead_[step], later));
}

/// To those that still wait.
void LinkOpener::say_why(const std::string& why) {
  const auto say = [&](Meeting& meeting) {
    if (!meeting.channel || !meeting.channel->usable()) return;
    try {
      meeting.channel->send({{"over", why}}, Deadline::in(kForStranger));
    } catch (const std::exception&) {  // it does not wait any more
    }
  };
  for (Meeting& meeting : ahead_) say(meeting);
  for (std::optional<Meeting>& meeting : behind_)
    if (meeting) say(*meeting);
}

OpenedLinks LinkOpener::open() {
  if (steps_ == 0) return {};
  const bool only_this_machine = job_.local_size() == job_.size();
  own_ = {.host = own_host_name(),
          .secret = make_token(),
          .addresses = only_this_machine && options_.interface.empty()
                           ? std::vector<std::string>()
                           : own_addresses(options_.interface)};
  Listener listener = listener_on(own_.addresses, only_this_machine, options_.interface);
  own_.port = listener.port();
  job_.publish(to_text(own_));
  for (std::size_t step = 0; step < steps_; ++step)
    cards_.push_back(card_from(job_.card_of(ahead_by(step))));
  try {
    make_sure(listener);
  } catch (const MeasurementError& error) {
    say_why(error.what());
    throw;
  }
  OpenedLinks links;
  for (Meeting& meeting : ahead_)
    links.ahead.push_back({meeting.name(), std::move(meeting.channel->release().socket)});
  for (std::optional<Meeting>& meeting : behind_)
    links.behind.push_back({meeting->name(), std::move(meeting->channel->release().socket)});
  return links;
}

}  // namespace

std::string own_host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

OpenedLinks open_links(PmixJob& job, const BootstrapOptions& options,
                       const InterruptSource& interrupt) {
  return LinkOpener(job, options, interrupt).open();
}

}  // namespace rdmameter
