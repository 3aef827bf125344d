// SPDX-License-Identifier: Apache-2.0
// Preloaded, it strikes a rank at a moment of its run that no clock could meet: STRIKE is
// "RANK CALL NUMBER SIGNAL", and that rank raises the signal as it makes the call for the NUMBERth
// time, or, where SIGNAL is 0, says so and never comes back from the call: PMIx_Commit (1: before
// it has said anything), PMIx_Get_nb (1: before it connects with other ranks), ibv_create_qp (2: in
// set-up), rdma_connect (iWARP, 2: one of its QPs is connected), PMIx_Finalize (1: all is measured
// and told, nobody has left).
#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>

struct ibv_pd;
struct ibv_qp;
struct ibv_qp_init_attr;
struct rdma_cm_id;
struct rdma_conn_param;

// As verbs.h, rdma_cma.h and pmix.h have them.
extern "C" ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes);
extern "C" int rdma_connect(rdma_cm_id* id, rdma_conn_param* wanted);
extern "C" int PMIx_Commit();
extern "C" int PMIx_Finalize(const void* info, std::size_t count);
extern "C" int PMIx_Get_nb(const void* process, const char* key, const void* info,
                           std::size_t count, void* callback, void* data);

namespace {

/// @param number  the calls so far, this one included
void strike_at(const std::string& call, int number) {
  const char* rank = std::getenv("PMIX_RANK");
  const char* strike = std::getenv("STRIKE");
  if (rank == nullptr || strike == nullptr) return;
  std::istringstream words(strike);
  std::string whom, where;
  int when = 0, signal = 0;
  if (!(words >> whom >> where >> when >> signal) || whom != rank || where != call ||
      when != number)
    return;
  if (signal != 0) {
    std::raise(signal);
    return;
  }
  std::cerr << "struck at " << call << std::endl;
  while (true) pause();
}

template <class Call>
Call* real(const char* name) {
  return reinterpret_cast<Call*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attributes) {
  static int calls = 0;
  strike_at("ibv_create_qp", ++calls);
  return real<ibv_qp*(ibv_pd*, ibv_qp_init_attr*)>("ibv_create_qp")(pd, attributes);
}

extern "C" int rdma_connect(rdma_cm_id* id, rdma_conn_param* wanted) {
  static int calls = 0;
  strike_at("rdma_connect", ++calls);
  return real<int(rdma_cm_id*, rdma_conn_param*)>("rdma_connect")(id, wanted);
}

extern "C" int PMIx_Commit() {
  static int calls = 0;
  strike_at("PMIx_Commit", ++calls);
  return real<int()>("PMIx_Commit")();
}

extern "C" int PMIx_Get_nb(const void* process, const char* key, const void* info,
                           std::size_t count, void* callback, void* data) {
  static int calls = 0;
  if (std::string(key) == "rdmameter.card") strike_at("PMIx_Get_nb", ++calls);
  return real<int(const void*, const char*, const void*, std::size_t, void*, void*)>("PMIx_Get_nb")(
      process, key, info, count, callback, data);
}

extern "C" int PMIx_Finalize(const void* info, std::size_t count) {
  strike_at("PMIx_Finalize", 1);
  return real<int(const void*, std::size_t)>("PMIx_Finalize")(info, count);
}
