// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/bootstrap/pmix_job.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <memory>
#include <set>
#include <thread>

#include "core/base/error.h"
#include "core/base/ip_address.h"
#include "core/base/printable.h"
#include "core/base/thread.h"
#include "core/verbs/gid_pair.h"
#include "topologies/ranks/bootstrap/ranks.h"

namespace rdmameter {

std::vector<std::string> own_addresses(const std::string& interface) {
  const auto list = interface_addresses();
  std::vector<std::string> v4, v6;
  std::set<std::string> names;
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    names.insert(each->ifa_name);
    if ((each->ifa_flags & IFF_UP) == 0) continue;
    if (interface.empty() ? (each->ifa_flags & IFF_LOOPBACK) != 0 : each->ifa_name != interface)
      continue;
    ibv_gid bytes{};
    if (!gid_of_address(each->ifa_addr, bytes) || is_link_local(bytes)) continue;
    const IpAddress address = IpAddress::of_bytes(bytes.raw, 0, 0);
    (address.family() == AF_INET ? v4 : v6).push_back(address.host());
  }
  v4.insert(v4.end(), v6.begin(), v6.end());
  if (v4.size() > kMaxOwnAddresses) v4.resize(kMaxOwnAddresses);
  if (!v4.empty() || interface.empty()) return v4;
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + printable(name);
  throw UsageError(
      "--bootstrap-if {}: {}; interfaces here: {}", printable(interface),
      names.contains(interface) ? "it is down, or has no IP address" : "there is no such interface",
      all);
}

namespace {

using std::chrono::milliseconds;

constexpr const char* kCard = "rdmameter.card";
/// A rank that has not published by now, after all that patience, is not late, but gone.
constexpr milliseconds kLateAnswer{3000};
/// So many are named; each may take a second to find out, after that time.
constexpr int kMaxNamed = 5;
/// The library's thread gives an answer; how often the waiting one looks for an interrupt.
constexpr milliseconds kGlance{20};
constexpr milliseconds kShortest{1000};  ///< the library counts seconds

void require(pmix_status_t status, std::string_view call) {
  if (status != PMIX_SUCCESS) throw MeasurementError("{}: {}", call, PMIx_Error_string(status));
}

/// What the library's thread tells the one that waits. Shared, since an answer that comes too late
/// still comes some time; so it also keeps what the library may look at until then.
struct Answer {
  Answer() { PMIX_INFO_CONSTRUCT(&info); }
  Answer(Answer&&) = delete;
  ~Answer() { PMIX_INFO_DESTRUCT(&info); }

  struct Said {
    pmix_status_t status;
    std::string text = {};
  };
  std::promise<Said> given;
  std::future<Said> said = given.get_future();
  pmix_info_t info;
};
using SharedAnswer = std::shared_ptr<Answer>;

void on_fence_end(pmix_status_t status, void* data) {
  const std::unique_ptr<SharedAnswer> answer(static_cast<SharedAnswer*>(data));
  (*answer)->given.set_value({status});
}

void on_value(pmix_status_t status, pmix_value_t* value, void* data) {
  const std::unique_ptr<SharedAnswer> answer(static_cast<SharedAnswer*>(data));
  if (status == PMIX_SUCCESS && (value == nullptr || value->type != PMIX_BYTE_OBJECT))
    status = PMIX_ERR_TYPE_MISMATCH;  // not what a rank has put
  const bool some = status == PMIX_SUCCESS && value->data.bo.size != 0;
  (*answer)->given.set_value(
      {status, some ? std::string(value->data.bo.bytes, value->data.bo.size) : ""});
}

/// Without the launcher nothing ends this rank with the others: it ends as if told to.
void on_lost_launcher(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, std::size_t,
                      pmix_info_t*, std::size_t, pmix_event_notification_cbfunc_fn_t done,
                      void* data) {
  kill(getpid(), SIGTERM);
  if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, data);
}

/// A value that PMIx_Get() has given; freed with its owner.
struct ReleaseValue {
  void operator()(pmix_value_t* value) const noexcept { PMIX_VALUE_RELEASE(value); }
};
using Value = std::unique_ptr<pmix_value_t, ReleaseValue>;

int whole_seconds(milliseconds time) {
  return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(time).count());
}

/// Whatever is interrupted meanwhile.
bool given_within(const Answer& answer, milliseconds limit) {
  return answer.said.wait_for(limit) == std::future_status::ready;
}

/// @return  false: the time is up
bool await(const Answer& answer, milliseconds limit, const InterruptSource& interrupt) {
  const Deadline deadline = Deadline::in(limit);
  while (!given_within(answer, kGlance)) {
    if (interrupt.requested()) throw Interrupted("interrupted");
    if (deadline.passed()) return false;
  }
  return true;
}

}  // namespace

PmixJob::PmixJob(milliseconds patience, const InterruptSource& interrupt)
    : patience_(patience), interrupt_(interrupt) {
  require(PMIx_Init(&me_, nullptr, 0), "PMIx_Init");
  joined_ = true;
  pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
  PMIx_Register_event_handler(&lost, 1, nullptr, 0, on_lost_launcher, nullptr, nullptr);
  size_ = number_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
  local_rank_ = number_of(me_.rank, PMIX_LOCAL_RANK);
  local_size_ = number_of(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
}

PmixJob::~PmixJob() {
  if (joined_) PMIx_Finalize(nullptr, 0);
}

void PmixJob::publish(const std::string& card) {
  pmix_value_t value;
  value.type = PMIX_BYTE_OBJECT;  // PMIx_Put() copies
  value.data.bo.bytes = const_cast<char*>(card.data());
  value.data.bo.size = card.size();
  require(PMIx_Put(PMIX_GLOBAL, kCard, &value), "PMIx_Put");
  commit();
  fence();
}

std::string PmixJob::card_of(Rank rank) const {
  const Deadline deadline = Deadline::in(patience_);
  while (true) {
    try {
      return get(rank, std::max(kShortest, std::chrono::ceil<milliseconds>(deadline.remaining())));
    } catch (const MeasurementError& error) {  // some servers say at once that they do not know it
      if (deadline.passed())
        throw MeasurementError("nothing from {}; the run ends on all ranks ({})", name_of(rank),
                               error.what());
    }
    if (wait_for(-1, 0, Deadline::in(kGlance), interrupt_) == Waited::interrupted)
      throw Interrupted("interrupted");
  }
}

void PmixJob::abort(int status) {
  PMIx_Abort(status, "rdmameter: the run cannot go on", nullptr, 0);
  std::_Exit(status);
}

pmix_proc_t PmixJob::process(Rank rank) const {
  pmix_proc_t result;
  PMIX_LOAD_PROCID(&result, me_.nspace, rank);
  return result;
}

Rank PmixJob::number_of(Rank rank, const char* key) const {
  const pmix_proc_t whose = process(rank);
  pmix_value_t* raw = nullptr;
  require(PMIx_Get(&whose, key, nullptr, 0, &raw), fmt::format("PMIx_Get({})", key));
  const Value value(raw);
  if (value->type == PMIX_UINT16) return value->data.uint16;
  return value->data.uint32;
}

/// PMIx_Commit() has no limit of its own: a launcher that is killed meanwhile leaves it waiting
/// for ever (libpmix 4.2), and PMIx_Finalize() after it.
/// @throws MeasurementError, Interrupted
void PmixJob::commit() {
  const auto answer = std::make_shared<Answer>();
  start_thread([answer] { answer->given.set_value({PMIx_Commit()}); }).detach();
  joined_ = false;
  if (!given_within(*answer, kLateAnswer) && !await(*answer, patience_, interrupt_))
    throw MeasurementError("no answer for {} s from the launcher; the run ends",
                           whole_seconds(patience_));
  joined_ = true;
  require(answer->said.get().status, "PMIx_Commit");
}

/// A fence that brings nothing along: who needs a card asks for it.
void PmixJob::fence() {
  const auto answer = std::make_shared<Answer>();
  auto data = std::make_unique<SharedAnswer>(answer);
  pmix_status_t status = PMIx_Fence_nb(nullptr, 0, nullptr, 0, on_fence_end, data.get());
  if (status == PMIX_OPERATION_SUCCEEDED) return;
  require(status, "PMIx_Fence");
  static_cast<void>(data.release());  // on_fence_end() has it
  if (!await(*answer, patience_, interrupt_))
    throw MeasurementError("no answer for {} s from {}; the run ends on all ranks",
                           whole_seconds(patience_), who_is_missing());
  status = answer->said.get().status;
  if (status != PMIX_SUCCESS)  // as the library sees it
    throw MeasurementError("gone: {}; the run ends on all ranks (PMIx_Fence: {})", who_is_missing(),
                           PMIx_Error_string(status));
}

/// A limit of our own, since a server may wait for ever for what a dead rank was to put.
/// @throws MeasurementError
std::string PmixJob::get(Rank rank, milliseconds limit) const {
  const pmix_proc_t whose = process(rank);
  const auto answer = std::make_shared<Answer>();
  int limit_s = whole_seconds(limit);
  PMIX_INFO_LOAD(&answer->info, PMIX_TIMEOUT, &limit_s, PMIX_INT);
  const auto call = fmt::format("PMIx_Get of rank {}", rank);
  auto data = std::make_unique<SharedAnswer>(answer);
  require(PMIx_Get_nb(&whose, kCard, &answer->info, 1, on_value, data.get()), call);
  static_cast<void>(data.release());  // on_value() has it
  if (!await(*answer, limit, interrupt_)) throw MeasurementError("{}: no answer", call);
  Answer::Said said = answer->said.get();
  require(said.status, call);
  return std::move(said.text);
}

std::string PmixJob::name_of(Rank rank) const {
  pmix_info_t only_what_is_here;  // who does not answer is not asked
  const bool yes = true;
  PMIX_INFO_LOAD(&only_what_is_here, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  const pmix_proc_t whose = process(rank);
  pmix_value_t* raw = nullptr;
  const pmix_status_t status = PMIx_Get(&whose, PMIX_HOSTNAME, &only_what_is_here, 1, &raw);
  PMIX_INFO_DESTRUCT(&only_what_is_here);
  const Value value(status == PMIX_SUCCESS ? raw : nullptr);
  return fmt::format(
      "rank {} on {}", rank,
      value && value->type == PMIX_STRING ? value->data.string : "a host not known yet");
}

/// Looks for no interrupt between answers: without a launcher they come at once, so who is missing
/// is said then, too.
/// @throws Interrupted  no answer comes
bool PmixJob::has_put(Rank rank, Deadline deadline) const {
  while (true) {
    try {
      get(rank, std::max(kShortest, std::chrono::ceil<milliseconds>(deadline.remaining())));
      return true;
    } catch (const MeasurementError&) {
      if (deadline.passed()) return false;
    }
    std::this_thread::sleep_for(kGlance);
  }
}

/// Those that have not published their card.
std::string PmixJob::who_is_missing() const {
  const Deadline deadline = Deadline::in(kLateAnswer);
  std::string missing;
  int count = 0;
  for (Rank rank = 0; rank < size_; ++rank) {
    if (rank == me_.rank || has_put(rank, deadline)) continue;
    if (count++ == kMaxNamed) return missing + " and perhaps more";
    missing += (missing.empty() ? "" : ", ") + name_of(rank);
  }
  return missing.empty() ? "the launcher" : missing;
}

bool started_by_pmix() {
  return std::getenv("PMIX_RANK") != nullptr && std::getenv("PMIX_NAMESPACE") != nullptr;
}

}  // namespace rdmameter
