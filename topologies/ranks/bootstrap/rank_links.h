// SPDX-License-Identifier: Apache-2.0
// TCP connections of a rank with those 1, 2, 4... ranks ahead of it and behind it (the last rank is
// followed by rank 0). Messages of all ranks get anywhere over them in log2 n steps.
#pragma once

#include <chrono>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/wire/wait.h"
#include "topologies/ranks/bootstrap/open_links.h"

namespace rdmameter {

/// A frame is 4 bytes of length, big-endian, and so many that are sealed (core/wire/seal.h): a byte
/// of its kind, and its content.
///
/// A rank that waits says so to its neighbours once a second, or four times in a shorter patience.
/// So a rank that hangs is known from those that only wait for it: a neighbour that waits for its
/// message has heard nothing at all from it for the whole patience. That neighbour tells all
/// others, over all links, and everybody's run is over.
class RankLinks {
 public:
  /// @param opened     by open_links(), whose ends have proved who they are
  /// @param patience   how long a rank may keep the others waiting
  /// @param interrupt  outlives it
  RankLinks(OpenedLinks opened, std::chrono::milliseconds patience,
            const InterruptSource& interrupt);
  /// Takes leave, and waits a moment until the others have taken theirs.
  ~RankLinks();
  RankLinks(RankLinks&&) = delete;

  /// The number of links ahead, and of those behind: to ranks 2^0, 2^1... away.
  std::size_t steps() const { return links_.size() / 2; }

  /// As Ranks::let_others_measure().
  void let_others_measure(bool on) { others_measure_ = on; }

  /// @param step  below steps()
  void send_ahead(std::size_t step, const std::string& message) { send(links_[step], message); }
  void send_behind(std::size_t step, const std::string& message) { send(behind(step), message); }
  std::string receive_from_ahead(std::size_t step) { return receive(links_[step]); }
  std::string receive_from_behind(std::size_t step) { return receive(behind(step)); }
  /// Sends and receives at the same time, so that a ring of ranks that all do it cannot block.
  std::string send_ahead_receive_behind(std::size_t step, const std::string& message);

 private:
  using Clock = Deadline::Clock;
  enum class Kind : char { message = 'm', waiting = 'w', over = 'o', bye = 'b' };
  friend std::string frame_that_it_is_over(const SealKeys& keys, std::string_view why);
  static std::string frame(Sealer& sealer, Kind kind, std::string_view content);
  struct Link {
    std::string name;   ///< "rank 3 on node1"
    Descriptor socket;  ///< none: it is closed
    Sealer sealer;
    Opener opener;
    std::string out = {};  ///< not yet written
    std::string in = {};   ///< read, and not yet a whole frame
    std::deque<std::string> received = {};
    Clock::time_point heard = {};
    bool left = false;  ///< it has taken leave
    bool gone = false;  ///< without having taken leave
  };

  Link& behind(std::size_t step) { return links_[steps() + step]; }
  void append(Link& link, Kind kind, std::string_view content);
  void send(Link& link, const std::string& message);
  std::string receive(Link& link);
  template <class Done>
  void wait_until(const Link& on, Done done);
  void look_at(const Link& on, Clock::time_point begun);
  void tell_that_it_waits();
  void move_bytes(Deadline deadline);
  void read(Link& link);
  void write(Link& link);
  void take_frames(Link& link);
  void take_frame(Link& link, std::string_view opened);
  void lose(Link& link);
  bool all_are_written() const;
  [[noreturn]] void end(const std::string& why);

  const std::chrono::milliseconds patience_, tell_every_;
  const InterruptSource& interrupt_;
  std::vector<Link> links_;                ///< those ahead, then those behind
  Clock::time_point told_ = Clock::now();  ///< when it last told that it waits
  std::string over_;                       ///< why the run is over; empty: it is not
  bool others_measure_ = false;
  bool passed_on_ = false;  ///< that it is over, to all neighbours
};

/// The frame that a rank sends over the links that it has, if it gives up before it has all.
std::string frame_that_it_is_over(const SealKeys& keys, std::string_view why);

}  // namespace rdmameter
