// SPDX-License-Identifier: Apache-2.0
#include "core/session/connect_test.h"

#include "core/base/error.h"
#include "core/control/connect_endpoint.h"
#include "core/control/control_measurer.h"
#include "core/session/message_exchange.h"
#include "core/session/messages.h"
#include "core/wire/watcher.h"

namespace rdmameter {
namespace {

/// The message "make": is the connection that there is to be kept?
using Make = OneField<"keep", bool>;

/// "join", "joined"
struct Join {
  std::uint32_t qpn = 0, psn = 0;  ///< of the QP that was made
};

void list_fields(auto& fields, Is<Join> auto& join) {
  fields("qpn", join.qpn, {.max = k24Bits});
  fields("psn", join.psn, {.max = k24Bits});
}

/// The message "done".
using Placed = OneField<"placement", PlacementData>;

/// One connection, or a step of it, as a call.
class ConnectCall final : public ControlCall {
 public:
  ConnectCall(MessageExchange& messages, ConnectEndpoint& end, const TestCase& test_case)
      : messages_(messages), end_(end), case_(test_case) {}

  void hold() override {
    make();
    connect();
    end_.keep();
    keep_ = true;
  }

  void prepare() override {
    make();
    if (case_.verb == Verb::connect) return;
    end_.make_id();
    if (case_.verb == Verb::cm_resolve_addr) return;
    end_.resolve_address();
    if (case_.verb == Verb::cm_connect) end_.resolve_route();
  }

  int call() noexcept override {
    try {
      call_verb();
      return 0;
    } catch (const std::exception&) {
      failure_ = std::current_exception();
      return EIO;
    }
  }

  void undo() noexcept override { end_.part(); }
  [[noreturn]] void fail(int) const override { std::rethrow_exception(failure_); }

 private:
  /// At both ends a QP in INIT.
  void make() {
    end_.make();
    messages_.send(make_message("make", Make{keep_}));
    keep_ = false;
    messages_.expect("made");
  }

  void exchange() {
    messages_.send(make_message("join", Join{end_.qpn(), end_.psn()}));
    const auto joined = messages_.expect<Join>("joined");
    end_.join(joined.qpn, joined.psn);
  }

  void call_verb() {
    switch (case_.verb) {
      case Verb::cm_resolve_addr:
        return end_.resolve_address();
      case Verb::cm_resolve_route:
        return end_.resolve_route();
      case Verb::cm_connect:
        return end_.request();
      default:
        return connect();
    }
  }

  void connect() {
    if (!case_.by_cm()) return exchange();
    end_.make_id();
    end_.resolve_address();
    end_.resolve_route();
    end_.request();
  }

  MessageExchange& messages_;
  ConnectEndpoint& end_;
  const TestCase& case_;
  bool keep_ = false;  ///< does the responder's last connection stay, too?
  std::exception_ptr failure_;
};

}  // namespace

Outcome measure_connects(Channel& channel, OpenDevice& device, const DeviceCase& test_case,
                         const Placement& placement, bool same_host, const ClockChoice& clock,
                         const InterruptSource& interrupt) {
  MessageExchange messages{channel};
  return messages.conduct([&] {
    const Pinned pinned = pinned_to_make(placement, "--core");
    messages.send(make_message("prepare", Prepare{.test_case = case_to_wire(test_case.shared()),
                                                  .devices = {{device.gids}},
                                                  .same_host = same_host,
                                                  .cpus = placement.cpus}));
    // The responder speaks only when asked: what it says during a step of rdma_cm ends that.
    ConnectEndpoint end{device, test_case, {&interrupt, channel.fd()}};
    const Introduction peer = messages.expect<Ready>("ready").ends.forward;
    end.negotiate(peer);
    const AgreedCase agreed{test_case, end.introduction(), peer};
    messages.send(make_message("connect", ConnectMessage{.ends = {.forward = end.introduction()}}));
    messages.expect("running");
    ConnectCall call{messages, end, agreed};
    const OrderlyEnd orderly{interrupt, kOrderlyEnd, [] { return true; }};
    Outcome outcome;
    try {
      outcome = time_control(call, agreed, placement, clock, interrupt.word());
    } catch (const MeasurementError&) {
      messages.ask_why("made");
      throw;
    }
    messages.send(make_message("finish"));
    outcome.extra["placement"]["responder"] = placement_json(messages.expect<Placed>("done").value);
    return outcome;
  });
}

bool serve_connects(Channel& channel, OpenDevice& device, const DeviceCase& test_case,
                    const Placement& placement, const InterruptSource& interrupt) {
  const Pinned pinned = pinned_to_make(placement, "--peer-core");
  MessageExchange messages{channel};
  ConnectEndpoint end{device, test_case, {&interrupt, channel.fd()}};
  messages.send(make_message("ready", Ready{.ends = {.forward = end.introduction()}}));
  for (;;) {
    const Waited waited = end.wait(Deadline::in(kSilence));
    if (waited == Waited::ready) {
      end.take_event();
      continue;
    }
    const Json message = channel.receive(Deadline::in(kSilence));
    const std::string type = type_of(message);
    if (type == "make") {
      if (read_message<Make>(message).value) end.keep();
      end.make();
      messages.send(make_message("made"));
    } else if (type == "join") {
      const auto join = read_message<Join>(message);
      end.join(join.qpn, join.psn);
      messages.send(make_message("joined", Join{end.qpn(), end.psn()}));
    } else if (type == "connect") {
      end.negotiate(read_message<ConnectMessage>(message).ends.forward);
      messages.send(make_message("running"));
    } else if (type == "finish") {
      messages.send(make_message("done", Placed{placement_data(placement, place_now())}));
      return true;
    } else if (type == "abandon") {
      return false;
    } else {
      throw MeasurementError("an unknown message in a test of connecting");
    }
  }
}

}  // namespace rdmameter
