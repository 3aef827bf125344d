// SPDX-License-Identifier: Apache-2.0
// What a measured loop works on: prebuilt work, laid out for reading in a circle. Plain data;
// core/engine/work.h builds and owns it. Nothing here changes while the clock runs but
// a lane's cursors.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <limits>

#include "core/instrument/histogram.h"

namespace rdmameter {

/// Buckets of a Histogram that are one here: 2^4. So one is 16 ns wide up to 2048 ns, and beyond at
/// most 1.6 % of its values.
inline constexpr unsigned kQpSamplesShift = 4;
inline constexpr std::size_t kQpSamplesBuckets = (kHistogramBuckets >> kQpSamplesShift) + 1;

/// Marks a policy of a loop as one that keeps figures of each QP: `using PerQp`.
template <class Base>
struct EachQp : Base {
  using PerQp = void;
};
template <class Of>
inline constexpr bool kPerQp = requires {
  typename Of::PerQp;
};

/// The samples of one QP among several, in a small histogram: a thousand QPs' fit into memory. Of
/// those cases alone that have several QPs.
struct QpSamples {
  std::uint64_t count = 0, sum_ns = 0;
  std::uint64_t min_ns = std::numeric_limits<std::uint64_t>::max(), max_ns = 0;
  std::uint32_t* buckets = nullptr;  ///< kQpSamplesBuckets; or one, where `shift` is 63
  unsigned shift = kQpSamplesShift;

  void record(std::uint64_t value_ns) noexcept {
    ++count;
    sum_ns += value_ns;
    if (value_ns < min_ns) [[unlikely]]
      min_ns = value_ns;
    if (value_ns > max_ns) [[unlikely]]
      max_ns = value_ns;
    constexpr std::uint64_t kLargest = (1ULL << kHistogramMaxBits) - 1;
    ++buckets[histogram_index(value_ns < kLargest ? value_ns : kLargest) >> shift];
  }

  /// Forgets the samples of a warm-up.
  void clear() noexcept {
    const std::size_t used = shift == kQpSamplesShift ? kQpSamplesBuckets : 1;
    for (std::size_t i = 0; i < used; ++i) buckets[i] = 0;
    count = sum_ns = max_ns = 0;
    min_ns = std::numeric_limits<std::uint64_t>::max();
  }
};

struct Lane;
struct RecvRing;

/// WRs posted with one doorbell. The lists of a QP form a ring, so that the next one is a load
/// away, and long enough that none is posted again before it is retired: so a list can hold what is
/// known of its flight. The wr_id of its signaled WRs is its address. A latency over several QPs
/// has one ring that visits them in turn.
struct SendList {
  ibv_send_wr* head;
  SendList* next;
  Lane* lane;
  std::uint64_t stamp;     ///< when it was posted [ticks]; kept where a WR of it is signaled
  std::uint32_t signaled;  ///< how many WRs of the list are signaled
  std::uint32_t measured;  ///< open loop: 1 behind the warm-up
  union {
    std::uint64_t due;   ///< open loop: when it was to be posted [ticks]
    SendList* returned;  ///< of sharers: the one that came back to the same owner before it
  };
};

/// The mailbox of one of several threads that share QPs: its lists whose completions others have
/// polled. The others push, the owner takes all.
struct alignas(64) Mailbox {
  std::atomic<SendList*> last{nullptr};
};

/// wr_id of a lane's closing WR, which no list holds.
inline constexpr std::uint64_t kClosing = 0;

/// A receive; its address is its wr_id.
struct RecvWork {
  RecvRing* ring;  ///< where it belongs
  /// The byte that carries a ping-pong's number, or the first of a bandwidth's; see Arrivals.
  const volatile std::uint8_t* number;
};

struct RecvList {
  ibv_recv_wr* head;
  RecvList* next;
};

/// A receive queue of a QP, and the lists that fill it; of an SRQ one list of it, by itself.
struct alignas(64) RecvRing {
  const RecvList* next = nullptr;  ///< to be posted
  std::uint32_t left = 1;          ///< receives to be taken until the next list is posted
  std::uint32_t list_length = 1;   ///< WRs per list
  std::uint64_t lists = 0;         ///< posted since the first fill
  ibv_qp* qp = nullptr;
  ibv_srq* srq = nullptr;  ///< not null: receives are posted here
  Lane* lane = nullptr;    ///< of the same QP, where it is one QP's
};

/// The credits of a QP, or of all that share receives: see core/engine/loop/credit.h.
struct Credit {
  // The sender's:
  const volatile std::uint32_t* granted = nullptr;  ///< receives posted in all; the peer writes it
  std::uint32_t sent = 0;                           ///< messages
  // The receiver's:
  volatile std::uint32_t* posted = nullptr;  ///< what a write takes; as it is until that is retired
  std::uint32_t count = 0;                   ///< receives that the sender is told of
  std::uint32_t untold = 0;                  ///< posted since
  std::uint32_t every = 1;                   ///< it is told of so many together
  bool under_way = false;                    ///< the write is; one at a time
  bool due = false;                          ///< another is to follow it
  ibv_qp* qp = nullptr;
  ibv_sge sge{};
  ibv_send_wr write{};
};

/// One QP and its sends.
struct alignas(64) Lane {
  ibv_qp* qp = nullptr;
  ibv_qp_ex* extended_qp = nullptr;
  SendList* send = nullptr;       ///< next to be posted; in a latency's case the first lane's rules
  std::uint32_t outstanding = 0;  ///< send WRs posted and not known to be retired
  std::uint8_t answered = 0;      ///< ping-pong: the number that the responder saw last
  ibv_send_wr* closing = nullptr;  ///< one signaled WR that ends the traffic
  /// Ping-pong: the last byte of the outgoing message carries the round's number (modulo 256), the
  /// last byte of what the peer writes here shows whose answer it is.
  std::uint8_t* departure = nullptr;
  const volatile std::uint8_t* arrival = nullptr;
  std::uint32_t number_base = 0;  ///< the high bits of every message's number: which QP
  std::uint32_t numbered = 0;     ///< messages so far: the low bits
  // Open loop of sends:
  SendList* oldest = nullptr;    ///< of those posted: whose answer comes next
  std::uint32_t unanswered = 0;  ///< sends whose answer has not come
  // Where the loop keeps what each QP does:
  QpSamples* samples = nullptr;                    ///< of a latency, or an open loop's service
  std::uint64_t cqes = 0;                          ///< of a bandwidth: good send completions so far
  std::uint64_t cqes_opened = 0, cqes_closed = 0;  ///< when the window did
  Mailbox* mailbox = nullptr;                      ///< of the thread whose lists these are
  Credit* credit = nullptr;                        ///< not null: sends need one
};
static_assert(sizeof(Lane) == 128, "a place in an array of lanes is a shift away");

struct CqRing;
/// Polls at most so many completions. @return as ibv_poll_cq()
using PollFunction = int (*)(CqRing&, int, ibv_wc*);

/// The CQs of one direction: one for all QPs, or one for each.
struct CqRing {
  ibv_cq* cq = nullptr;          ///< the only one, or the first
  ibv_cq* const* all = nullptr;  ///< every one
  std::uint32_t count = 1;
  std::uint32_t next = 0;  ///< whose turn it is
  /// How to poll, for the instances that do not know (ChosenCq).
  PollFunction poll = nullptr;
  std::uint64_t completed_at = 0;  ///< by the device's clock: the completion polled last
};

/// The counts that a receiver of UC and UD bandwidth makes from the messages' numbers. Each is 32
/// bits: high ones for the QP, low ones that count its messages.
struct Arrivals {
  std::uint32_t* next = nullptr;  ///< of each QP: the number that is due
  /// For each QP a ring of numbers that were due and passed over; kNoNumber: none.
  std::uint64_t* skipped = nullptr;
  std::uint32_t skipped_per_qp = 0;  ///< a power of two
  std::uint32_t count_bits = 32;     ///< low bits of a number
  std::uint64_t duplicated = 0, reordered = 0;
};
inline constexpr std::uint64_t kNoNumber = std::numeric_limits<std::uint64_t>::max();

/// A message's moments: ticks of the loop's clock, but for that of the completion.
struct Timestamps {
  std::uint64_t begun, posted;
  std::uint64_t completed;  ///< by the device's clock
  std::uint64_t seen;
};

/// The last so many of them.
struct TimestampRing {
  Timestamps* first = nullptr;
  std::uint64_t mask = 0;   ///< of the place: one less than a power of two
  std::uint64_t taken = 0;  ///< in all
};

/// When something was, each time; the last so many.
struct TimeRing {
  std::uint64_t* first = nullptr;
  std::uint64_t mask = 0;   ///< of the place: one less than a power of two
  std::uint64_t taken = 0;  ///< in all
  void note(std::uint64_t now) noexcept { first[taken++ & mask] = now; }
};

/// The times of posts of lists and of completions of a bandwidth whose peak is looked for, over
/// all QPs [ticks].
struct TrafficTimes {
  TimeRing posts, completions;
  std::uint64_t kept_posts = 0, kept_completions = 0;  ///< `taken` when it was stopped
  std::uint64_t last = 0, last_messages = 0;           ///< all traffic is over; 0: not kept
  std::uint64_t sink = 0;                              ///< where the times go that are not kept

  bool stopped() const noexcept { return posts.first == &sink; }
  /// Further times do not count.
  void stop() noexcept {
    if (stopped()) return;
    kept_posts = posts.taken;
    kept_completions = completions.taken;
    posts = completions = {.first = &sink};
  }
  /// @param messages  of the whole traffic
  void end(std::uint64_t messages, std::uint64_t now) noexcept {
    if (!stopped()) {
      last_messages = messages;
      last = now;
    }
    stop();
  }
};

/// Marks a policy of a loop as one that keeps these times: `using Times`.
template <class Base>
struct Timed : Base {
  using Times = void;
};
template <class Of>
inline constexpr bool kTimed = requires {
  typename Of::Times;
};

/// Posts linked WRs. @return 0 or the errno value
using PostFunction = int (*)(const Lane&, ibv_send_wr*);

inline int post_classic(const Lane& lane, ibv_send_wr* head) noexcept {
  ibv_send_wr* bad;
  return ibv_post_send(lane.qp, head, &bad);
}

struct OpenLoop;
struct PollWatch;

struct LoopState {
  Lane* lanes = nullptr;
  std::uint32_t lane_count = 0;
  CqRing send_cq, recv_cq;
  PostFunction post = post_classic;  ///< for the instances that do not know how (ChosenPost)
  std::uint32_t post_list = 1;       ///< WRs per send list
  std::uint32_t signal_every = 1;    ///< WRs that a send completion retires
  std::uint32_t depth = 1;           ///< most WRs outstanding on a QP
  std::uint32_t answers = 1;         ///< to each ping, of a multicast
  std::uint8_t sequence = 0;         ///< the last round's number
  std::uint32_t number_mask = 0;     ///< of the low bits of a message's number
  bool closing_in_turn = false;      ///< a closing WR takes the next one's place
  Arrivals arrivals;
  TimestampRing timestamps;
  OpenLoop* open_loop = nullptr;        ///< not null: the initiator of one
  PollWatch* watch = nullptr;           ///< not null: this end's loop watches itself
  TrafficTimes* times = nullptr;        ///< not null: a bandwidth's peak is looked for
  std::uint32_t credits_under_way = 0;  ///< writes of credits that are not retired
  std::uint32_t next_lane = 0;          ///< of sends that need credits: whose turn it is
  bool starved = false;                 ///< a QP has room, and no credit
};

class WindowBarrier;

/// How long to go on; every loop reads what concerns it.
struct LoopPlan {
  std::uint64_t operations = std::numeric_limits<std::uint64_t>::max();  ///< measured ones
  std::uint64_t duration_ns = 0;                                         ///< 0: `operations` rule
  std::uint64_t warmup = 0;           ///< operations before the measured ones
  std::uint64_t loss_timeout_ns = 0;  ///< a pong later than this is lost
  std::uint64_t quiet_ns = 0;  ///< a receiver told to finish ends after this long without arrivals
  WindowBarrier* windows =
      nullptr;  ///< not null: other loops' windows open and close with this one
  /// Operations below this are not counted by a receiver whose sender is known to have sent so many
  /// (set while it runs, before StopReason::finish).
  std::atomic<std::uint64_t> expected{std::numeric_limits<std::uint64_t>::max()};
};

/// LoopTally::last_ticks before the measured part has begun, and in it where iterations rule.
inline constexpr std::uint64_t kNotBegun = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kNoEnd = kNotBegun - 1;

/// The counts of a loop. `progress` is read by the session's thread while the loop runs.
struct LoopTally {
  Histogram* latency = nullptr;            ///< measured samples
  Histogram* scratch = nullptr;            ///< samples of the warm-up
  IntervalLatencies* over_time = nullptr;  ///< not null: the measured ones, interval by interval
  std::uint64_t operations = 0;            ///< measured rounds, or messages in the window
  std::uint64_t elapsed_ns = 0;            ///< first to last moment of those
  std::uint64_t traffic_ns = 0;            ///< bandwidth: first post to the last completion of all
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0, reordered = 0;  ///< of a receiver that reads numbers
  // Over the whole traffic, warm-up included. What closes a bandwidth's traffic is in `total` and
  // `doorbells`; the CQEs that come once the last window is closed are in `cqes`
  // of sharers alone.
  std::uint64_t total = 0;  ///< messages sent or received
  std::uint64_t doorbells = 0, cqes = 0, polls = 0;
  alignas(64) std::atomic<std::uint64_t> progress{0};
  /// When the loop ends [ticks]; set to 0 from outside, at once. Beside `progress`, since loops
  /// that look at it have that at hand.
  std::atomic<std::uint64_t> last_ticks{kNotBegun};

  /// Ends the measured part from another thread, as if its time had come.
  /// @return had it begun?
  bool end_now() noexcept { return last_ticks.exchange(0) != kNotBegun; }
};

/// Why a loop ended. Plain data; loop_result_text() turns it into text.
struct LoopResult {
  enum class Why : std::uint8_t {
    done,
    stopped,
    post_failed,
    poll_failed,
    completion_failed,
    connection_lost,
  };
  Why why = Why::done;
  /// errno value of a failed post or of a lost connection [0: the peer closed it], or ibv_poll_cq's
  /// negative result
  int error = 0;
  ibv_wc_status status = IBV_WC_SUCCESS;
  std::uint32_t vendor_err = 0;
  std::uint32_t qp_num = 0;
};

}  // namespace rdmameter
