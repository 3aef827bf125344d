// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/bootstrap/ranks.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "topologies/ranks/bootstrap/open_links.h"
#include "topologies/ranks/bootstrap/pmix_job.h"
#include "topologies/ranks/bootstrap/rank_links.h"

namespace rdmameter {
namespace {

[[noreturn]] void refuse() {
  throw MeasurementError("a rank sent an unexpected message");
}

/// @throws MeasurementError  there is not so much left
std::string_view take(std::string_view& from, std::size_t bytes) {
  if (from.size() < bytes) refuse();
  const std::string_view taken = from.substr(0, bytes);
  from.remove_prefix(bytes);
  return taken;
}

/// @return  at rank 0 the messages of all ranks, packed; elsewhere nothing
std::string joined(Ranks& ranks, const std::string& message) {
  return ranks.reduce(pack({{.from = ranks.rank(), .to = 0, .text = message}}), std::plus<>());
}

std::vector<std::string> texts_by_rank(std::string_view packed, Rank ranks) {
  std::vector<std::string> texts(ranks);
  for (RankMessage& each : unpack(packed, ranks)) texts[each.from] = std::move(each.text);
  return texts;
}

}  // namespace

std::vector<std::string> Ranks::gather(const std::string& message) {
  const std::string of_all = joined(*this, message);
  return rank() == 0 ? texts_by_rank(of_all, size()) : std::vector<std::string>();
}

void append_number(std::string& to, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(number >> shift);
}

std::uint32_t take_number(std::string_view& from) {
  std::uint32_t number = 0;
  for (const char byte : take(from, sizeof(number)))
    number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

std::string pack(const std::vector<RankMessage>& messages) {
  std::string packed;
  for (const RankMessage& message : messages) {
    append_number(packed, message.from);
    append_number(packed, message.to);
    append_number(packed, static_cast<std::uint32_t>(message.text.size()));
    packed += message.text;
  }
  return packed;
}

std::vector<RankMessage> unpack(std::string_view packed, Rank ranks) {
  std::vector<RankMessage> messages;
  while (!packed.empty()) {
    RankMessage& message = messages.emplace_back();
    message.from = take_number(packed);
    message.to = take_number(packed);
    if (message.from >= ranks || message.to >= ranks) refuse();
    message.text = take(packed, take_number(packed));
  }
  return messages;
}

// Messages among all ranks over the links of each with those 2^k ahead and behind. Ranks are found
// by PMIx; after that it is asked for nothing.

namespace {

class LinkedRanks final : public Ranks {
 public:
  LinkedRanks(const BootstrapOptions& options, const InterruptSource& interrupt)
      : job_(options.patience, interrupt),
        links_(open_links(job_, options, interrupt), options.patience, interrupt) {
    hosts_ = all_gather(*this, own_host_name().value_or(""));
  }

  Rank rank() const override { return job_.rank(); }
  Rank size() const override { return job_.size(); }
  Rank local_rank() const override { return job_.local_rank(); }
  Rank local_size() const override { return job_.local_size(); }
  const std::vector<std::string>& hosts() const override { return hosts_; }

  std::string reduce(const std::string& message, const Combine& combine) override {
    std::string combined = message;
    for (std::size_t step = 0; step < own_step(); ++step)
      if (has_child(step)) combined = combine(combined, links_.receive_from_ahead(step));
    if (rank() == 0) return combined;
    links_.send_behind(own_step(), combined);
    return {};
  }

  std::string broadcast(const std::string& message) override {
    std::string received = rank() == 0 ? message : links_.receive_from_behind(own_step());
    for (std::size_t step = own_step(); step-- > 0;)
      if (has_child(step)) links_.send_ahead(step, received);
    return received;
  }

  /// Bruck's algorithm ("Efficient algorithms for all-to-all communications in multiport
  /// message-passing systems", IEEE TPDS 8, 1997): in step k each rank passes on ahead by 2^k what
  /// still has to go a distance with this bit.
  std::map<Rank, std::string> exchange(const std::map<Rank, std::string>& messages) override {
    std::vector<RankMessage> here;
    for (const auto& [to, text] : messages) here.push_back({rank(), to, text});
    for (std::size_t step = 0; step < links_.steps(); ++step) {
      std::vector<RankMessage> ahead, kept;
      for (RankMessage& message : here) {
        const Rank distance = (message.to + size() - rank()) % size();
        ((distance >> step & 1) != 0 ? ahead : kept).push_back(std::move(message));
      }
      for (RankMessage& theirs :
           unpack(links_.send_ahead_receive_behind(step, pack(ahead)), size()))
        kept.push_back(std::move(theirs));
      here = std::move(kept);
    }
    std::map<Rank, std::string> received;
    for (RankMessage& message : here) {
      if (message.to != rank()) refuse();
      received.emplace(message.from, std::move(message.text));
    }
    return received;
  }

  void let_others_measure(bool on) override { links_.let_others_measure(on); }
  [[noreturn]] void abort(int status) override { job_.abort(status); }

 private:
  /// The tree of reduce() and broadcast(): a rank's parent is 2^step behind it, where
  /// 2^step is the lowest bit of its number; its children are less than that ahead.
  std::size_t own_step() const {
    return std::min(static_cast<std::size_t>(std::countr_zero(rank())), links_.steps());
  }
  bool has_child(std::size_t step) const { return rank() + (Rank{1} << step) < size(); }

  PmixJob job_;
  RankLinks links_;
  std::vector<std::string> hosts_;
};

}  // namespace

std::vector<std::string> all_gather(Ranks& ranks, const std::string& message) {
  return texts_by_rank(ranks.broadcast(joined(ranks, message)), ranks.size());
}

std::unique_ptr<Ranks> join_ranks(const BootstrapOptions& options,
                                  const InterruptSource& interrupt) {
  return std::make_unique<LinkedRanks>(options, interrupt);
}

}  // namespace rdmameter
