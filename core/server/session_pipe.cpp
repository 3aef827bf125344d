// SPDX-License-Identifier: Apache-2.0
#include "core/server/session_pipe.h"

#include "core/base/printable.h"
#include "core/session/failure.h"
#include "core/session/messages.h"

namespace rdmameter {

/// The message "begin".
void list_fields(auto& fields, Is<CaseNeeds> auto& needs) {
  fields("memory_bytes", needs.memory_bytes);
  fields("threads", needs.threads);
}

namespace {

/// The message "shared": see SessionHost::case_is_shared().
using Shared = OneField<"value", bool>;

/// "log". A session tells of no end of its own process.
struct LogLine {
  std::string text;
  ClientEvent event = ClientEvent::note;
};

void list_fields(auto& fields, Is<LogLine> auto& line) {
  fields.any_text("text", line.text);
  fields("event", line.event, {.max = static_cast<std::uint64_t>(ClientEvent::dropped)});
}

/// The message "connected".
using Connected = OneField<"connected", ConnectedCase>;

}  // namespace

void answer_session(Channel& pipe, SessionHost& host, Deadline deadline) {
  const Json message = pipe.receive(deadline);
  const std::string type = type_of(message);
  if (type == "log") {
    const auto line = read_message<LogLine>(message);
    host.log(line.text, line.event);
  } else if (type == "end") {
    host.end_case();
  } else if (type == "row") {
    host.show_row(read_message<RowMessage>(message).value);
  } else if (type == "connected") {
    host.show_connected(read_message<Connected>(message).value);
  } else if (type == "is_shared") {
    pipe.send(make_message("shared", Shared{host.case_is_shared()}), deadline);
  } else if (type == "begin") {
    const auto needs = read_message<CaseNeeds>(message);
    Json answer = make_message("granted");
    try {
      host.begin_case(needs);
    } catch (const std::exception& error) {
      answer = failure_message(error);
    }
    pipe.send(answer, deadline);
  } else {
    throw MeasurementError("it sent a message that no session sends");
  }
}

void PipeHost::say(const Json& message) {
  const std::lock_guard lock{sending_};
  pipe_.send(message, Deadline::in(kSetupTimeout));
}

Json PipeHost::ask(const Json& message, std::string_view answer) {
  say(message);
  Json said = pipe_.receive(Deadline::in(kSetupTimeout));
  const std::string type = type_of(said);
  if (type == "failed") {
    const auto failure = read_message<Failure>(said);
    throw_failure(failure.kind, failure.reason);
  }
  if (type != answer) throw MeasurementError("the server answered a question that was not asked");
  return said;
}

void PipeHost::log(std::string_view text, ClientEvent event) noexcept {
  try {
    say(make_message("log", LogLine{std::string(beginning(text, kLogTextBytes)), event}));
  } catch (const std::exception&) {  // the server has gone, and with it the log
  }
}

void PipeHost::begin_case(const CaseNeeds& needs) {
  ask(make_message("begin", needs), "granted");
}

bool PipeHost::case_is_shared() {
  return read_message<Shared>(ask(make_message("is_shared"), "shared")).value;
}

void PipeHost::show_connected(const ConnectedCase& connected) {
  const Json message = make_message("connected", Connected{connected});
  if (message.dump().size() <= kShownPipeMessageBytes) say(message);
}

void PipeHost::show_row(const Json& row) {
  if (shown_) say(make_message("row", RowMessage{row}));
}

void PipeHost::end_case() noexcept {
  try {
    say(make_message("end"));
  } catch (const std::exception&) {  // the server has gone
  }
}

}  // namespace rdmameter
