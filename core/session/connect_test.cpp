// SPDX-License-Identifier: Apache-2.0
#include "core/session/connect_test.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/control/connect_endpoint.h"
#include "core/control/control_measurer.h"
#include "core/session/message_exchange.h"
#include "core/session/protocol.h"
#include "core/session/report.h"
#include "core/wire/fields.h"
#include "core/wire/orderly_end.h"

namespace rdmameter {
namespace {

std::uint32_t number(const nlohmann::json& message, const char* key) {
  return require_uint_as<std::uint32_t>(message, key, 0, k24Bits);
}

/// One connection, or a step of it, as a call.
class ConnectCall final : public ControlCall {
 public:
  ConnectCall(MessageExchange& messages, ConnectEndpoint& end, const TestCase& test_case)
      : messages_(messages), end_(end), case_(test_case) {}

  void hold() override {
    make();
    if (case_.verb == Verb::connect && !case_.by_cm()) {
      exchange();
    } else {
      end_.make_id();
      end_.resolve_address();
      end_.resolve_route();
      end_.request();
    }
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
      connect();
      return 0;
    } catch (const std::exception&) {
      failure_ = std::current_exception();
      return EIO;
    }
  }

  void undo() noexcept override { end_.part(); }
  [[noreturn]] void fail(int) const override { std::rethrow_exception(failure_); }

  std::string_view verb() const noexcept override { return "connecting"; }
  std::string object() const override { return "a QP"; }

 private:
  /// At both ends a QP in INIT.
  void make() {
    end_.make();
    messages_.send({{"keep", keep_}}, "make");
    keep_ = false;
    messages_.expect("made");
  }

  void exchange() {
    messages_.send({{"qpn", end_.qpn()}, {"psn", end_.psn()}}, "join");
    const nlohmann::json joined = messages_.expect("joined");
    end_.join(number(joined, "qpn"), number(joined, "psn"));
  }

  void connect() {
    switch (case_.verb) {
      case Verb::cm_resolve_addr:
        return end_.resolve_address();
      case Verb::cm_resolve_route:
        return end_.resolve_route();
      case Verb::cm_connect:
        return end_.request();
      default:
        break;
    }
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

struct ConnectPlan {
  OpenDevice& device;
  const TestCase& test_case;
  const Placement& placement;
  bool same_host;
};

Outcome measure(MessageExchange& messages, const CmWatch& watch, const ConnectPlan& plan,
                const ClockChoice& clock, const InterruptSource& interrupt) {
  const auto& [device, test_case, placement, same_host] = plan;
  const Pinned pinned = pinned_to_make(placement, "--core");
  messages.send({{"case", case_to_wire(test_case)},
                 {"seed", 0},
                 {"gids", gids_to_wire(device.gids)},
                 {"same_host", same_host},
                 {"cpus", placement.cpus}},
                "prepare");
  ConnectEndpoint end{device, test_case, Role::initiator, watch};
  const nlohmann::json ready = messages.expect("ready");
  end.negotiate(ready);
  messages.send(end.connection_info(), "connect");
  messages.expect("running");
  ConnectCall call{messages, end, test_case};
  const OrderlyEnd orderly{interrupt, kOrderlyEnd, [] { return true; }};
  Outcome outcome = time_control(call, test_case, placement, clock, interrupt.word());
  messages.send({}, "finish");
  outcome.extra["placement"]["responder"] = placement_from_wire(messages.expect("done"));
  outcome.effective.initiator.device = device.port.device;
  outcome.effective.initiator.port_num = device.port.number;
  outcome.effective.initiator.gid_index = device.gid.index;
  outcome.effective.responder.device = require_string(ready, "device", 64);
  outcome.effective.responder.port_num = require_uint(ready, "port_num", 1, 255);
  outcome.effective.responder.gid_index = require_uint(ready, "gid_index", 0, 255);
  return outcome;
}

}  // namespace

Outcome measure_connects(Channel& channel, OpenDevice& device, const TestCase& test_case,
                         const Placement& placement, bool same_host, const ClockChoice& clock,
                         const InterruptSource& interrupt) {
  MessageExchange messages{channel};
  return messages.conduct([&] {
    // The responder speaks only when asked: what it says during a step of rdma_cm ends that.
    return measure(messages, {&interrupt, channel.fd()}, {device, test_case, placement, same_host},
                   clock, interrupt);
  });
}

bool serve_connects(Channel& channel, OpenDevice& device, const TestCase& test_case,
                    const Placement& placement, const InterruptSource& interrupt) {
  const Pinned pinned = pinned_to_make(placement, "--peer-core");
  MessageExchange messages{channel};
  ConnectEndpoint end{device, test_case, Role::responder, {&interrupt, channel.fd()}};
  nlohmann::json ready = end.connection_info();
  ready["device"] = device.port.device;
  ready["port_num"] = device.port.number;
  ready["gid_index"] = device.gid.index;
  messages.send(std::move(ready), "ready");
  for (;;) {
    const Waited waited = end.wait(Deadline::in(kSilence));
    if (waited == Waited::ready) {
      end.take_event();
      continue;
    }
    const nlohmann::json message = channel.receive(Deadline::in(kSilence));
    const std::string& type = require_string(message, "type", 32);
    if (type == "make") {
      if (require_bool(message, "keep")) end.keep();
      end.make();
      messages.send({}, "made");
    } else if (type == "join") {
      end.join(number(message, "qpn"), number(message, "psn"));
      messages.send({{"qpn", end.qpn()}, {"psn", end.psn()}}, "joined");
    } else if (type == "connect") {
      end.negotiate(message);
      messages.send({}, "running");
    } else if (type == "finish") {
      messages.send({{"placement", placement_json(placement, place_now())}}, "done");
      return true;
    } else if (type == "abandon") {
      return false;
    } else {
      throw MeasurementError("an unknown message in a test of connecting");
    }
  }
}

}  // namespace rdmameter
