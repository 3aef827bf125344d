// SPDX-License-Identifier: Apache-2.0
// Uses Init, Put, Commit, Fence, Get, Abort and Finalize alone: what every launcher's server has.
// That the server is gone the library itself tells.
#include <fmt/format.h>
#include <pmix.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "topologies/ranks/ranks.h"

namespace rdmameter {
namespace {

using std::chrono::milliseconds;

/// A rank that has not said it is late by now is not late, but gone.
constexpr milliseconds kLateAnswer{3000};
/// So many are named; each may take a second to find out, after that time.
constexpr int kMaxNamed = 5;
/// The library's thread gives an answer; how often the waiting one looks for an interrupt.
constexpr milliseconds kGlance{20};

void require(pmix_status_t status, std::string_view call) {
  if (status != PMIX_SUCCESS)
    throw MeasurementError(fmt::format("{}: {}", call, PMIx_Error_string(status)));
}

/// What the library's thread tells the one that waits. Shared, since an answer that comes too late
/// still comes some time; so it also keeps what the library may look at until then.
struct Answer {
  Answer() { PMIX_INFO_CONSTRUCT(&info); }
  Answer(Answer&&) = delete;
  ~Answer() { PMIX_INFO_DESTRUCT(&info); }

  void give(pmix_status_t how, std::string what) {
    const std::lock_guard lock(mutex);
    ended = true;
    status = how;
    said = std::move(what);
    changed.notify_one();
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  pmix_status_t status = PMIX_SUCCESS;
  std::string said;
  std::string key;
  pmix_info_t info;
};
using SharedAnswer = std::shared_ptr<Answer>;

void on_fence_end(pmix_status_t status, void* data) {
  const std::unique_ptr<SharedAnswer> answer(static_cast<SharedAnswer*>(data));
  (*answer)->give(status, {});
}

void on_value(pmix_status_t status, pmix_value_t* value, void* data) {
  const std::unique_ptr<SharedAnswer> answer(static_cast<SharedAnswer*>(data));
  if (status == PMIX_SUCCESS && (value == nullptr || value->type != PMIX_BYTE_OBJECT))
    status = PMIX_ERR_TYPE_MISMATCH;  // not what a rank has put
  const bool some = status == PMIX_SUCCESS && value->data.bo.size != 0;
  (*answer)->give(status, some ? std::string(value->data.bo.bytes, value->data.bo.size) : "");
}

/// Without the launcher nobody ends this rank with the others: it ends as if told to.
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

class PmixRanks final : public Ranks {
 public:
  PmixRanks(milliseconds patience, const InterruptSource& interrupt)
      : patience_(patience), interrupt_(interrupt) {
    require(PMIx_Init(&me_, nullptr, 0), "PMIx_Init");
    joined_ = true;
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
    PMIx_Register_event_handler(&lost, 1, nullptr, 0, on_lost_launcher, nullptr, nullptr);
    size_ = number_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
    local_rank_ = number_of(me_.rank, PMIX_LOCAL_RANK);
    local_size_ = number_of(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE);
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    host_ = name.data();
    hosts_ = exchange(host_);
  }
  ~PmixRanks() override {
    if (joined_) PMIx_Finalize(nullptr, 0);
  }
  PmixRanks(PmixRanks&&) = delete;

  std::uint32_t rank() const override { return me_.rank; }
  std::uint32_t size() const override { return size_; }
  std::uint32_t local_rank() const override { return local_rank_; }
  std::uint32_t local_size() const override { return local_size_; }
  const std::vector<std::string>& hosts() const override { return hosts_; }

  std::vector<std::string> exchange(const std::string& said) override {
    const std::string key = fmt::format("rdmameter.{}", ++phase_);  // Gets are cached by key
    put(key, said);
    wait_for_all();
    std::vector<std::string> received;
    for (std::uint32_t rank = 0; rank < size_; ++rank) try {
        received.push_back(rank == me_.rank ? said : get(rank, key, patience_));
      } catch (const MeasurementError& error) {  // its launcher has let the others through
        throw MeasurementError(fmt::format("nothing from {}; the run ends on all ranks ({})",
                                           named(rank), error.what()));
      }
    return received;
  }

  [[noreturn]] void abort(int status) override {
    PMIx_Abort(status, "rdmameter: the run cannot go on", nullptr, 0);
    std::_Exit(status);
  }

 private:
  static int seconds(milliseconds time) {
    return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(time).count());
  }

  pmix_proc_t process(pmix_rank_t rank) const {
    pmix_proc_t result;
    PMIX_LOAD_PROCID(&result, me_.nspace, rank);
    return result;
  }

  std::uint32_t number_of(pmix_rank_t rank, const char* key) const {
    const pmix_proc_t whose = process(rank);
    pmix_value_t* raw = nullptr;
    require(PMIx_Get(&whose, key, nullptr, 0, &raw), fmt::format("PMIx_Get({})", key));
    const Value value(raw);
    if (value->type == PMIX_UINT16) return value->data.uint16;
    return value->data.uint32;
  }

  void put(const std::string& key, const std::string& said) {
    pmix_value_t value;
    value.type = PMIX_BYTE_OBJECT;  // PMIx_Put() copies
    value.data.bo.bytes = const_cast<char*>(said.data());
    value.data.bo.size = said.size();
    require(PMIx_Put(PMIX_GLOBAL, key.c_str(), &value), "PMIx_Put");
    commit();
  }

  /// PMIx_Commit() has no limit of its own: a launcher that is killed meanwhile leaves it waiting
  /// for ever (libpmix 4.2), and PMIx_Finalize() after it.
  /// @throws MeasurementError, Interrupted
  void commit() {
    const auto answer = std::make_shared<Answer>();
    start_thread([answer] { answer->give(PMIx_Commit(), {}); }).detach();
    joined_ = false;
    if (!given_within(*answer, kLateAnswer) && !await(*answer, patience_))
      throw MeasurementError(
          fmt::format("no answer for {} s from the launcher; the run ends", seconds(patience_)));
    joined_ = true;
    require(answer->status, "PMIx_Commit");
  }

  /// A limit of our own, since a server may wait for ever for what a dead rank was to put.
  /// @throws MeasurementError
  std::string get(std::uint32_t rank, const std::string& key, milliseconds limit) const {
    const pmix_proc_t whose = process(rank);
    const auto answer = std::make_shared<Answer>();
    answer->key = key;
    int limit_s = seconds(limit);
    PMIX_INFO_LOAD(&answer->info, PMIX_TIMEOUT, &limit_s, PMIX_INT);
    const auto call = fmt::format("PMIx_Get of rank {}", rank);
    auto data = std::make_unique<SharedAnswer>(answer);
    require(PMIx_Get_nb(&whose, answer->key.c_str(), &answer->info, 1, on_value, data.get()), call);
    static_cast<void>(data.release());  // on_value() has it
    if (!await(*answer, limit)) throw MeasurementError(fmt::format("{}: no answer", call));
    require(answer->status, call);
    return answer->said;
  }

  /// A fence that brings along what has been put.
  void wait_for_all() {
    const auto answer = std::make_shared<Answer>();
    const bool collect = true;
    PMIX_INFO_LOAD(&answer->info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    auto data = std::make_unique<SharedAnswer>(answer);
    const pmix_status_t status =
        PMIx_Fence_nb(nullptr, 0, &answer->info, 1, on_fence_end, data.get());
    if (status == PMIX_OPERATION_SUCCEEDED) return;
    require(status, "PMIx_Fence");
    static_cast<void>(data.release());  // on_fence_end() has it
    if (!await(*answer, patience_))
      throw MeasurementError(fmt::format("no answer for {} s from {}; the run ends on all ranks",
                                         seconds(patience_), who_is_missing()));
    if (answer->status != PMIX_SUCCESS)  // as the library sees it
      throw MeasurementError(fmt::format("gone: {}; the run ends on all ranks (PMIx_Fence: {})",
                                         who_is_missing(), PMIx_Error_string(answer->status)));
  }

  /// Whatever is interrupted meanwhile.
  static bool given_within(Answer& answer, milliseconds limit) {
    std::unique_lock lock(answer.mutex);
    return answer.changed.wait_for(lock, limit, [&] { return answer.ended; });
  }

  /// @return  false: the time is up
  bool await(Answer& answer, milliseconds limit) const {
    const Deadline deadline = Deadline::in(limit);
    std::unique_lock lock(answer.mutex);
    while (!answer.changed.wait_for(lock, kGlance, [&] { return answer.ended; })) {
      if (interrupt_.requested()) throw Interrupted("interrupted");
      if (deadline.passed()) return false;
    }
    return true;
  }

  std::string named(std::uint32_t rank) const {
    return fmt::format("rank {} on {}", rank,
                       rank < hosts_.size() ? hosts_[rank] : launchers_name_of_host(rank));
  }

  /// Where the launcher has put a rank that has not yet said where it is.
  std::string launchers_name_of_host(std::uint32_t rank) const {
    pmix_info_t only_what_is_here;  // who does not answer is not asked
    const bool yes = true;
    PMIX_INFO_LOAD(&only_what_is_here, PMIX_OPTIONAL, &yes, PMIX_BOOL);
    const pmix_proc_t whose = process(rank);
    pmix_value_t* raw = nullptr;
    const pmix_status_t status = PMIx_Get(&whose, PMIX_HOSTNAME, &only_what_is_here, 1, &raw);
    PMIX_INFO_DESTRUCT(&only_what_is_here);
    const Value value(status == PMIX_SUCCESS ? raw : nullptr);
    return value && value->type == PMIX_STRING ? value->data.string : "a host not known yet";
  }

  /// Some servers wait for what a rank has not yet put, others say at once that they do not know
  /// it: asked again.
  bool has_put(std::uint32_t rank, const std::string& key, const Deadline& deadline) const {
    constexpr milliseconds kShortest{1000};  // the library counts seconds
    while (true) {
      try {
        get(rank, key, std::max(kShortest, std::chrono::ceil<milliseconds>(deadline.remaining())));
        return true;
      } catch (const MeasurementError&) {
        if (deadline.passed()) return false;
      }
      std::this_thread::sleep_for(kGlance);
    }
  }

  /// Each rank that waits in vain says so; who does not is the one that is waited for.
  std::string who_is_missing() {
    const std::string key = fmt::format("rdmameter.late.{}", phase_);
    put(key, host_);
    const Deadline deadline = Deadline::in(kLateAnswer);
    std::string missing;
    int count = 0;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      if (rank == me_.rank || has_put(rank, key, deadline)) continue;
      if (count++ == kMaxNamed) return missing + " and perhaps more";
      missing += (missing.empty() ? "" : ", ") + named(rank);
    }
    return missing.empty() ? "the launcher" : missing;
  }

  const milliseconds patience_;
  const InterruptSource& interrupt_;
  pmix_proc_t me_{};
  bool joined_ = false;  ///< and the library answers: it can be left in order
  std::uint32_t size_ = 1, local_rank_ = 0, local_size_ = 1, phase_ = 0;
  std::string host_;
  std::vector<std::string> hosts_;
};

}  // namespace

bool started_by_pmix() {
  return std::getenv("PMIX_RANK") != nullptr && std::getenv("PMIX_NAMESPACE") != nullptr;
}

std::unique_ptr<Ranks> join_pmix(milliseconds patience, const InterruptSource& interrupt) {
  return std::make_unique<PmixRanks>(patience, interrupt);
}

}  // namespace rdmameter
