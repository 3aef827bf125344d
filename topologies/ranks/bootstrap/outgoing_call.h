// SPDX-License-Identifier: Apache-2.0
// A connection to another rank that is being made.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <thread>
#include <utility>

#include "core/base/thread.h"
#include "core/wire/socket.h"

namespace rdmameter {

/// Connects on a thread of its own, while those who connect with this rank are listened to.
class OutgoingCall {
 public:
  using Connect = std::function<Connection(const InterruptSource&)>;

  /// @param ended  raised when there is a result; outlives the call
  OutgoingCall(Connect connect, const EventFd& ended)
      : task_([this, connect = std::move(connect)] { return connect(stop_); }),
        thread_(start_thread([this, &ended] {
          task_();
          ended.raise();
        })) {}
  OutgoingCall(OutgoingCall&&) = delete;
  ~OutgoingCall() {
    stop_.raise();
    thread_.join();
  }

  bool ended() const {
    return result_.wait_for(std::chrono::milliseconds(0)) == std::future_status::ready;
  }
  /// Once it has ended. @throws what `connect` has thrown
  Connection result() { return result_.get(); }

 private:
  InterruptSource stop_;
  std::packaged_task<Connection()> task_;
  std::future<Connection> result_ = task_.get_future();
  std::thread thread_;  // begins last
};

}  // namespace rdmameter
