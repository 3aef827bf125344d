// SPDX-License-Identifier: Apache-2.0
// Creates the QPs of a rank, and counts the time that takes. Words that a rank writes to another
// (credits, barriers) go inline where the device can: an adapter then need not read them from
// memory. Whether it can, the first QP shows.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>

#include "core/engine/endpoint.h"
#include "core/verbs/handles.h"

namespace rdmameter {

// How long calls of the set-up take, each apart from what is done between them.

class Stopwatch {
 public:
  /// Calls it and counts its time. @return  what it returns
  template <class Call>
  auto time(Call&& call) {
    struct Running {
      Clock::duration& total;
      const Clock::time_point begin = Clock::now();
      ~Running() { total += Clock::now() - begin; }  // after an exception, too
    };
    const Running running{total_};
    return call();
  }
  std::uint64_t total_ns() const {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(total_).count());
  }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::duration total_{};
};

class QpMaker {
 public:
  /// @param inline_bytes  to be tried; 0: nothing goes inline
  explicit QpMaker(std::uint32_t inline_bytes) : inline_bytes_(inline_bytes) {}

  /// @return  null where there is none, with errno
  Qp make(ibv_pd& pd, ibv_qp_init_attr attributes) {
    attributes.cap.max_inline_data = inline_bytes_;
    Stopwatch watch;
    const auto create = [&] { return errno = 0, ibv_create_qp(&pd, &attributes); };
    Qp qp(watch.time(create));
    if (!qp && !made_ && inline_bytes_ != 0) {
      trial_ns_ = watch.total_ns();
      watch = {};
      attributes.cap.max_inline_data = inline_bytes_ = 0;
      qp.reset(watch.time(create));
    }
    made_ = true;
    created_ns_ += watch.total_ns();
    return qp;
  }

  /// The send flag of such a word's WR: IBV_SEND_INLINE, where the QPs made have room for it.
  unsigned inline_flag() const { return inline_bytes_ == 0 ? 0U : unsigned{IBV_SEND_INLINE}; }
  std::uint64_t created_ns() const { return created_ns_; }
  /// Time of a QP creation that was refused with inline data.
  std::uint64_t trial_ns() const { return trial_ns_; }

 private:
  std::uint32_t inline_bytes_;
  bool made_ = false;  ///< one, or none could be
  std::uint64_t created_ns_ = 0, trial_ns_ = 0;
};

// What a rank says that cannot have the QPs which a case asks of it: how many it had,
// and the limit.

/// @param wanted  QPs of the graph at this rank
/// @throws Unsupported  the device has room for fewer, even if no other program uses it
void require_qps(const OpenDevice& device, std::uint64_t wanted);

/// Throws the error of an ibv_create_qp() that has failed.
/// @param which  "graph" or "barrier": whose QPs they are
/// @param had    QPs of it that this rank had by then, of `wanted`
/// @throws VerbsError
[[noreturn]] void throw_no_qp(const OpenDevice& device, const std::string& which, std::uint64_t had,
                              std::uint64_t wanted, int error);

}  // namespace rdmameter
