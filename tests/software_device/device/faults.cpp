// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/faults.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "tests/software_device/device/async_events.h"
#include "tests/software_device/device/settings.h"
#include "tests/software_device/device/words.h"

namespace rdmameter::software {
namespace {

struct NamedError {
  std::string_view name;
  int value;
};
constexpr std::array<NamedError, 13> kErrors{{{"EACCES", EACCES},
                                              {"EAGAIN", EAGAIN},
                                              {"EBUSY", EBUSY},
                                              {"EFAULT", EFAULT},
                                              {"EINVAL", EINVAL},
                                              {"EIO", EIO},
                                              {"EMFILE", EMFILE},
                                              {"ENODEV", ENODEV},
                                              {"ENOMEM", ENOMEM},
                                              {"ENOTSUPP", 524},  // the kernel's own
                                              {"EOPNOTSUPP", EOPNOTSUPP},
                                              {"EPERM", EPERM},
                                              {"ETIMEDOUT", ETIMEDOUT}}};

/// As in enum ibv_wc_status, without "IBV_WC_".
constexpr std::array<std::string_view, 22> kStatuses{
    "SUCCESS",          "LOC_LEN_ERR",       "LOC_QP_OP_ERR",     "LOC_EEC_OP_ERR",
    "LOC_PROT_ERR",     "WR_FLUSH_ERR",      "MW_BIND_ERR",       "BAD_RESP_ERR",
    "LOC_ACCESS_ERR",   "REM_INV_REQ_ERR",   "REM_ACCESS_ERR",    "REM_OP_ERR",
    "RETRY_EXC_ERR",    "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR",  "REM_INV_RD_REQ_ERR",
    "REM_ABORT_ERR",    "INV_EECN_ERR",      "INV_EEC_STATE_ERR", "FATAL_ERR",
    "RESP_TIMEOUT_ERR", "GENERAL_ERR"};
static_assert(kStatuses.size() == IBV_WC_GENERAL_ERR + 1);

constexpr std::string_view kAccepted =
    "a verb, @, the number of its call, + for all that follow, = and what happens: hang, an error "
    "such as EINVAL, an event such as GID_CHANGE, for post_send a status such as RETRY_EXC_ERR, or "
    "for "
    "poll_cq a time such as 10ms; as in create_qp@3=ENOMEM";

std::array<std::atomic<std::uint64_t>, kVerbs> calls{};

bool concerns(const Fault& fault, std::uint64_t call) {
  return call == fault.call || (call > fault.call && fault.ever_after);
}

void set_outcome(Fault& fault, const Word& word) {
  fault.hangs = word.value == "hang";
  const auto error = std::ranges::find(kErrors, word.value, &NamedError::name);
  if (error != kErrors.end()) fault.error = error->value;
  const auto status = std::ranges::find(kStatuses, word.value);
  if (status != kStatuses.end() && fault.verb == Verb::post_send)
    fault.status = static_cast<ibv_wc_status>(status - kStatuses.begin());
  fault.event = event_named(word.value);
  const bool is_time = !word.value.empty() && word.value[0] >= '0' && word.value[0] <= '9';
  if (is_time && fault.verb == Verb::poll_cq) fault.hold_ns = nanoseconds_of(word);
  if (fault.hold_ns != 0) return;
  if (!fault.hangs && fault.error == 0 && fault.status == IBV_WC_SUCCESS && !fault.event)
    reject(word, kAccepted);
}

Fault fault_of(const Word& word) {
  const std::size_t at = word.name.find('@');
  const std::optional<Verb> verb = verb_named(word.name.substr(0, at));
  if (at == std::string::npos || !verb) reject(word, kAccepted);
  std::string number = word.name.substr(at + 1);
  const bool ever_after = number.ends_with('+');
  if (ever_after) number.pop_back();
  const bool is_number = !number.empty() && number.size() < 19 &&
                         number.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || std::stoull(number) == 0) reject(word, kAccepted);
  Fault made{*verb, std::stoull(number), ever_after, false, 0, IBV_WC_SUCCESS, std::nullopt, 0};
  set_outcome(made, word);
  return made;
}

[[noreturn]] void hang() {
  for (;;) pause();
}

}  // namespace

std::vector<Fault> faults_of_verbs() {
  std::vector<Fault> made;
  for (const Word& word : words_of("RDMAMETER_DEVICE_FAULTS")) made.push_back(fault_of(word));
  return made;
}

Injected begin_call(Verb verb) {
  const std::vector<Fault>& faults = settings().faults;
  if (faults.empty()) [[likely]]
    return {};
  const std::uint64_t call = ++calls[index(verb)];
  for (const Fault& fault : faults) {
    if (fault.verb != verb || fault.hold_ns != 0 || !concerns(fault, call)) continue;
    if (fault.hangs) hang();
    if (fault.event) {
      raise_event(*fault.event);
      return {};
    }
    return {fault.error, fault.status};
  }
  return {};
}

std::uint64_t hold_after_receive(std::uint64_t number) {
  const std::vector<Fault>& faults = settings().faults;
  if (faults.empty()) [[likely]]
    return 0;
  for (const Fault& fault : faults)
    if (fault.hold_ns != 0 && concerns(fault, number)) return fault.hold_ns;
  return 0;
}

void forget_calls() {
  for (auto& count : calls) count.store(0);
}

}  // namespace rdmameter::software
