// SPDX-License-Identifier: Apache-2.0
#include "core/session/connect_test.h"

#include <fmt/format.h>

#include "core/control/connect_end.h"
#include "core/control/control_measurer.h"
#include "core/error.h"
#include "core/session/dialogue.h"
#include "core/session/fields.h"
#include "core/session/protocol.h"

namespace rdmameter {
namespace {

constexpr std::uint32_t k24Bits = 0xffffff;

std::uint32_t number(const nlohmann::json& message, const char* key) {
  return require_uint_as<std::uint32_t>(message, key, 0, k24Bits);
}

/// One connection, or a step of it, as a call.
class ConnectCall final : public ControlCall {
 public:
  ConnectCall(Dialogue& dialogue, ConnectEnd& end, const Case& one_case)
      : dialogue_(dialogue), end_(end), case_(one_case) {}

  void hold() override {
    make();
    if (case_.calls() == Verb::connect && !case_.by_cm()) {
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
    if (case_.calls() == Verb::connect) return;
    end_.make_id();
    if (case_.calls() == Verb::cm_resolve_addr) return;
    end_.resolve_address();
    if (case_.calls() == Verb::cm_connect) end_.resolve_route();
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
    dialogue_.say({{"keep", keep_}}, "make");
    keep_ = false;
    dialogue_.expect("made");
  }

  void exchange() {
    dialogue_.say({{"qpn", end_.qpn()}, {"psn", end_.psn()}}, "join");
    const nlohmann::json joined = dialogue_.expect("joined");
    end_.join(number(joined, "qpn"), number(joined, "psn"));
  }

  void connect() {
    switch (case_.calls()) {
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

  Dialogue& dialogue_;
  ConnectEnd& end_;
  const Case& case_;
  bool keep_ = false;  ///< does the responder's last connection stay, too?
  std::exception_ptr failure_;
};

Outcome measure(Dialogue& dialogue, const CmWatch& watch, OpenDevice& device, const Case& one_case,
                const ClockChoice& clock, const StopWord& interrupt) {
  dialogue.say({{"case", case_to_wire(one_case)}, {"seed", 0}}, "prepare");
  ConnectEnd end{device, one_case, Role::initiator, watch};
  const nlohmann::json ready = dialogue.expect("ready");
  end.learn(ready);
  dialogue.say(end.introduction(), "connect");
  dialogue.expect("running");
  ConnectCall call{dialogue, end, one_case};
  Outcome outcome = time_control(call, one_case, clock, interrupt);
  dialogue.say({}, "finish");
  dialogue.expect("done");
  outcome.effective.device = device.port.device;
  outcome.effective.port_num = device.port.number;
  outcome.effective.gid_index = device.gid.index;
  outcome.effective.peer_device = require_string(ready, "device", 64);
  outcome.effective.peer_port_num = require_uint(ready, "port_num", 1, 255);
  outcome.effective.peer_gid_index = require_uint(ready, "gid_index", 0, 255);
  return outcome;
}

}  // namespace

Outcome measure_connects(Channel& channel, OpenDevice& device, const Case& one_case,
                         const ClockChoice& clock, const InterruptSource& interrupt) {
  Dialogue dialogue{channel};
  try {
    // The responder speaks only when asked: what it says during a step of rdma_cm ends that.
    return measure(dialogue, {&interrupt, channel.fd()}, device, one_case, clock, interrupt.word());
  } catch (const ChannelError&) {
    throw;  // nobody is left to be told
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    dialogue.abandon();
    throw;
  }
}

bool serve_connects(Channel& channel, OpenDevice& device, const Case& one_case,
                    const InterruptSource& interrupt) {
  Dialogue dialogue{channel};
  ConnectEnd end{device, one_case, Role::responder, {&interrupt, channel.fd()}};
  nlohmann::json ready = end.introduction();
  ready["device"] = device.port.device;
  ready["port_num"] = device.port.number;
  ready["gid_index"] = device.gid.index;
  dialogue.say(std::move(ready), "ready");
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
      dialogue.say({}, "made");
    } else if (type == "join") {
      end.join(number(message, "qpn"), number(message, "psn"));
      dialogue.say({{"qpn", end.qpn()}, {"psn", end.psn()}}, "joined");
    } else if (type == "connect") {
      end.learn(message);
      dialogue.say({}, "running");
    } else if (type == "finish") {
      dialogue.say({}, "done");
      return true;
    } else if (type == "abandon") {
      return false;
    } else {
      throw MeasurementError("an unknown message in a test of connecting");
    }
  }
}

}  // namespace rdmameter
