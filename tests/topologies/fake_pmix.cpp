// SPDX-License-Identifier: Apache-2.0
#include "tests/topologies/fake_pmix.h"

#include <pmix.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace rdmameter::fake_pmix {
namespace {

constexpr const char* kJob = "job";

std::mutex mutex;
Rank job_size = 1, job_here = 1;
std::map<Rank, std::string> cards;
std::vector<std::pair<pmix_op_cbfunc_t, void*>> fenced;
std::atomic<std::uint64_t> asked;
thread_local Rank this_rank = 0;

}  // namespace

void begin(Rank ranks, Rank here) {
  const std::lock_guard lock(mutex);
  job_size = ranks;
  job_here = here;
  cards.clear();
  fenced.clear();
  asked = 0;
}

void be(Rank rank) {
  this_rank = rank;
}

void put_card(Rank rank, std::string card) {
  const std::lock_guard lock(mutex);
  cards[rank] = std::move(card);
}

std::uint64_t calls() {
  return asked;
}

namespace {

pmix_status_t give_number(const char* key, pmix_value_t** value) {
  const std::string_view name = key;
  const std::lock_guard lock(mutex);
  if (name != PMIX_JOB_SIZE && name != PMIX_LOCAL_SIZE && name != PMIX_LOCAL_RANK)
    return PMIX_ERR_NOT_FOUND;
  *value = static_cast<pmix_value_t*>(std::calloc(1, sizeof(pmix_value_t)));  // the caller's
  if (name == PMIX_LOCAL_RANK) {
    (*value)->type = PMIX_UINT16;
    (*value)->data.uint16 = static_cast<std::uint16_t>(this_rank);
  } else {
    (*value)->type = PMIX_UINT32;
    (*value)->data.uint32 = name == PMIX_JOB_SIZE ? job_size : job_here;
  }
  return PMIX_SUCCESS;
}

pmix_status_t give_card(Rank rank, pmix_value_cbfunc_t told, void* data) {
  std::string card;
  {
    const std::lock_guard lock(mutex);
    const auto found = cards.find(rank);
    if (found == cards.end()) return PMIX_ERR_NOT_FOUND;
    card = found->second;
  }
  pmix_value_t value{};
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = card.data();
  value.data.bo.size = card.size();
  told(PMIX_SUCCESS, &value, data);
  return PMIX_SUCCESS;
}

pmix_status_t join_fence(pmix_op_cbfunc_t told, void* data) {
  std::vector<std::pair<pmix_op_cbfunc_t, void*>> all;
  {
    const std::lock_guard lock(mutex);
    fenced.emplace_back(told, data);
    if (fenced.size() == job_here) all.swap(fenced);
  }
  for (const auto& [each, its_data] : all) each(PMIX_SUCCESS, its_data);
  return PMIX_SUCCESS;
}

}  // namespace
}  // namespace rdmameter::fake_pmix

// This program has them before libpmix.
extern "C" {

using namespace rdmameter::fake_pmix;

pmix_status_t PMIx_Init(pmix_proc_t* own, pmix_info_t*, size_t) {
  ++asked;
  *own = {};
  std::strncpy(own->nspace, kJob, sizeof own->nspace - 1);
  own->rank = this_rank;
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t*, size_t, pmix_info_t*, size_t,
                                          pmix_notification_fn_t, pmix_hdlr_reg_cbfunc_t, void*) {
  ++asked;
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t*, const char* key, const pmix_info_t*, size_t,
                       pmix_value_t** value) {
  ++asked;
  return give_number(key, value);
}

pmix_status_t PMIx_Put(pmix_scope_t, const char*, pmix_value_t* value) {
  ++asked;
  put_card(this_rank, {value->data.bo.bytes, value->data.bo.size});
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Commit() {
  ++asked;
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t*, size_t, const pmix_info_t*, size_t,
                            pmix_op_cbfunc_t told, void* data) {
  ++asked;
  return join_fence(told, data);
}

pmix_status_t PMIx_Get_nb(const pmix_proc_t* whose, const char*, const pmix_info_t*, size_t,
                          pmix_value_cbfunc_t told, void* data) {
  ++asked;
  return give_card(whose->rank, told, data);
}

pmix_status_t PMIx_Finalize(const pmix_info_t*, size_t) {
  return PMIX_SUCCESS;
}

}  // extern "C"
