// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/first_use.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/base/error.h"
#include "core/wire/fields.h"
#include "topologies/ranks/matrix_summary.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMaxNs = std::uint64_t{1} << 62;
/// Of fewer pairs a 99th percentile would be the largest.
constexpr std::size_t kMinForP99 = 100;

EndpointInfo info_in(const nlohmann::json& message) {
  return endpoint_info_from_wire(require_object(message, "graph"), 1);
}

}  // namespace

void FirstUseLoop::run() {
  std::optional<Rank> last;
  for (const auto& [asks, answers] : graph_.edges()) {
    if (last && *last != asks) ranks_.pass(*last, asks, "");  // the next rank's turn
    last = asks;
    connect(asks, answers);
  }
}

void FirstUseLoop::connect(Rank asks, Rank answers) {
  const bool mine = ranks_.rank() == asks, theirs = ranks_.rank() == answers;
  const std::string request = ranks_.pass(asks, answers, mine ? ask(answers) : "");
  const std::string reply = ranks_.pass(answers, asks, theirs ? answer(asks, request) : "");
  if (mine) use(answers, reply);
}

/// @return  what the step returns; empty: something of it has failed
template <class Step>
std::string FirstUseLoop::attempt(Rank peer, Step step) {
  try {
    return step();
  } catch (const VerbsError& error) {
    if (!node_.has_qp(peer)) failure_ = std::current_exception();
    refused_.emplace(peer, error.what());
  } catch (const MeasurementError& error) {
    refused_.emplace(peer, error.what());
  } catch (const Interrupted&) {
    throw;  // all ranks are: nobody waits for this one
  } catch (const std::exception&) {
    failure_ = std::current_exception();
  }
  return {};
}

/// @return  the request
std::string FirstUseLoop::ask(Rank peer) {
  begun_ = node_.spent();
  asked_ = std::chrono::steady_clock::now();
  return attempt(peer, [&] {
    node_.create_qp_to(peer);
    return nlohmann::json{{"graph", endpoint_info_to_wire(node_.info_for(peer))}}.dump();
  });
}

/// @return  the answer; empty: the rank that asks gets no connection
std::string FirstUseLoop::answer(Rank peer, const std::string& request) {
  const Node::Spent before = node_.spent();
  return attempt(peer, [&]() -> std::string {
    node_.create_qp_to(peer);  // also where the other one has none: the case goes on without it
    if (request.empty()) return {};
    peers_[peer] = info_in(nlohmann::json::parse(request, nullptr, false));
    node_.connect_to(peer, peers_[peer]);
    const Node::Spent after = node_.spent();
    return nlohmann::json{{"graph", endpoint_info_to_wire(node_.info_for(peer))},
                          {"verbs_ns", after.verbs_ns - before.verbs_ns},
                          {"trial_ns", after.trial_ns - before.trial_ns}}
        .dump();
  });
}

void FirstUseLoop::use(Rank peer, const std::string& answer) {
  if (answer.empty()) return;  // the other one tells why
  attempt(peer, [&]() -> std::string {
    const nlohmann::json message = nlohmann::json::parse(answer, nullptr, false);
    peers_[peer] = info_in(message);
    node_.connect_to(peer, peers_[peer]);
    node_.send_first_to(peer, peers_[peer], patience_, interrupt_);
    const auto passed = std::chrono::steady_clock::now() - asked_;
    const Node::Spent spent = node_.spent();
    const std::uint64_t trials_ns =
        spent.trial_ns - begun_.trial_ns + require_uint(message, "trial_ns", 0, kMaxNs);
    times_.push_back(
        {.with = peer,
         .ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(passed).count()) - trials_ns,
         .verbs_ns =
             spent.verbs_ns - begun_.verbs_ns + require_uint(message, "verbs_ns", 0, kMaxNs)});
    return {};
  });
}

std::optional<FirstUseData> summarise_first_use(std::span<const RankResult> results) {
  std::vector<std::uint64_t> times, of_verbs;
  FirstUseData data;
  for (Rank rank = 0; rank < results.size(); ++rank)
    for (const FirstUse& one : results[rank].first_uses) {
      times.push_back(one.ns);
      of_verbs.push_back(one.verbs_ns);
      if (one.ns < data.max_ns) continue;
      data.max_ns = one.ns;
      data.slowest = {rank, static_cast<std::uint32_t>(one.with)};
    }
  if (times.empty()) return std::nullopt;
  std::ranges::sort(times);
  std::ranges::sort(of_verbs);
  data.pairs = times.size();
  data.min_ns = times.front();
  data.p50_ns = nearest_rank(times, 0.5);
  if (times.size() >= kMinForP99) data.p99_ns = nearest_rank(times, 0.99);
  data.verbs_p50_ns = nearest_rank(of_verbs, 0.5);
  return data;
}

}  // namespace rdmameter
