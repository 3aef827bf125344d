// SPDX-License-Identifier: Apache-2.0
// Uses Init, Put, Commit, Fence, Get, Abort and Finalize alone: what every launcher's server has.
#include "topologies/pmix_ranks.h"

#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "core/error.h"

namespace rdmameter {
namespace {

using std::chrono::milliseconds;

/// A rank that has not said it is late by now [s] is not late, but gone.
constexpr int kLateAnswer_s = 3;
/// So many are named; each takes that long to find out.
constexpr int kMostNamed = 5;
/// The library's thread ends a fence; how often the waiting one looks for an interrupt.
constexpr milliseconds kGlance{20};

void require(pmix_status_t status, std::string_view call) {
  if (status != PMIX_SUCCESS)
    throw MeasurementError(fmt::format("{}: {}", call, PMIx_Error_string(status)));
}

/// What a fence tells the thread that waits for it. Shared, since a fence that comes too late still
/// ends some time.
struct FenceEnd {
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  pmix_status_t status = PMIX_SUCCESS;
};

void on_fence_end(pmix_status_t status, void* shared) {
  const std::unique_ptr<std::shared_ptr<FenceEnd>> end(
      static_cast<std::shared_ptr<FenceEnd>*>(shared));
  const std::lock_guard lock((*end)->mutex);
  (*end)->ended = true;
  (*end)->status = status;
  (*end)->changed.notify_one();
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
  const std::string& host() const override { return host_; }

  std::vector<std::string> exchange(const std::string& said) override {
    const std::string key = fmt::format("rdmameter.{}", ++phase_);  // Gets are cached by key
    put(key, said);
    wait_for_all(true);
    std::vector<std::string> heard;
    for (std::uint32_t rank = 0; rank < size_; ++rank)
      heard.push_back(rank == me_.rank ? said : get(rank, key, seconds(patience_)));
    return heard;
  }

  void fence() override {
    ++phase_;
    wait_for_all(false);
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
    pmix_proc_t made;
    PMIX_LOAD_PROCID(&made, me_.nspace, rank);
    return made;
  }

  std::uint32_t number_of(pmix_rank_t rank, const char* key) const {
    const pmix_proc_t whose = process(rank);
    pmix_value_t* raw = nullptr;
    require(PMIx_Get(&whose, key, nullptr, 0, &raw), fmt::format("PMIx_Get({})", key));
    const Value value(raw);
    if (value->type == PMIX_UINT16) return value->data.uint16;
    return value->data.uint32;
  }

  void put(const std::string& key, const std::string& said) const {
    pmix_value_t value;
    value.type = PMIX_BYTE_OBJECT;  // PMIx_Put() copies
    value.data.bo.bytes = const_cast<char*>(said.data());
    value.data.bo.size = said.size();
    require(PMIx_Put(PMIX_GLOBAL, key.c_str(), &value), "PMIx_Put");
    require(PMIx_Commit(), "PMIx_Commit");
  }

  /// @throws MeasurementError
  std::string get(std::uint32_t rank, const std::string& key, int timeout_s) const {
    const pmix_proc_t whose = process(rank);
    pmix_info_t limit;
    PMIX_INFO_CONSTRUCT(&limit);
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &timeout_s, PMIX_INT);
    pmix_value_t* raw = nullptr;
    const pmix_status_t status = PMIx_Get(&whose, key.c_str(), &limit, 1, &raw);
    PMIX_INFO_DESTRUCT(&limit);
    require(status, fmt::format("PMIx_Get of rank {}", rank));
    const Value value(raw);
    if (value->type != PMIX_BYTE_OBJECT)
      throw MeasurementError(fmt::format("PMIx_Get of rank {}: not what it has put", rank));
    if (value->data.bo.size == 0) return {};
    return {value->data.bo.bytes, value->data.bo.size};
  }

  /// @param collect  bring along what has been put
  void wait_for_all(bool collect) {
    const auto end = std::make_shared<FenceEnd>();
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    auto* const shared = new std::shared_ptr<FenceEnd>(end);  // on_fence_end() deletes it
    const pmix_status_t status = PMIx_Fence_nb(nullptr, 0, &info, 1, on_fence_end, shared);
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) {
      delete shared;
      require(status, "PMIx_Fence");
    }
    if (status == PMIX_OPERATION_SUCCEEDED) {
      delete shared;
      return;
    }
    const bool ended = await(*end);
    PMIX_INFO_DESTRUCT(&info);
    if (!ended)
      throw MeasurementError(fmt::format("no answer for {} s from {}; the run ends on all ranks",
                                         seconds(patience_), who_is_missing()));
    if (end->status != PMIX_SUCCESS)  // as the library sees it
      throw MeasurementError(fmt::format("gone: {}; the run ends on all ranks (PMIx_Fence: {})",
                                         who_is_missing(), PMIx_Error_string(end->status)));
  }

  /// @return  false: patience has ended first
  bool await(FenceEnd& end) const {
    const Deadline deadline = Deadline::in(patience_);
    std::unique_lock lock(end.mutex);
    while (!end.changed.wait_for(lock, kGlance, [&] { return end.ended; })) {
      if (interrupt_.requested()) throw Interrupted("interrupted");
      if (deadline.passed()) return false;
    }
    return true;
  }

  /// Each rank that waits in vain says so; who does not is the one that is waited for.
  std::string who_is_missing() const {
    const std::string key = fmt::format("rdmameter.late.{}", phase_);
    put(key, host_);
    std::string missing;
    int named = 0;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      if (rank == me_.rank) continue;
      try {
        get(rank, key, kLateAnswer_s);
      } catch (const MeasurementError&) {
        if (named++ == kMostNamed) return missing + " and perhaps more";
        missing += fmt::format("{}rank {} on {}", missing.empty() ? "" : ", ", rank,
                               rank < hosts_.size() ? hosts_[rank] : "a host not known yet");
      }
    }
    return missing.empty() ? "the launcher" : missing;
  }

  const milliseconds patience_;
  const InterruptSource& interrupt_;
  pmix_proc_t me_{};
  bool joined_ = false;
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
