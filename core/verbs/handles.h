// SPDX-License-Identifier: Apache-2.0
// Owners of verbs objects: each is owned from the line that creates it. Declare them in the order
// of creation, so that members go in the order of teardown (a QP before its CQ, a CQ
// before the context).
#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <type_traits>

namespace rdmameter {

/// Says on stderr that a verbs object could not be destroyed. `error` is an errno value, or
/// -1 for errno.
void report_leak(const char* what, int error) noexcept;

/// Destroys an object; reports a refusal, if it can be refused, since a destructor cannot throw it.
template <auto Destroy>
struct Destroyer {
  template <class Object>
  void operator()(Object* object) const noexcept {
    if constexpr (std::is_void_v<decltype(Destroy(object))>)
      Destroy(object);
    else if (const int error = Destroy(object); error != 0)
      report_leak(__PRETTY_FUNCTION__, error);
  }
};

// verbs.h makes these `static inline`, so that a type made from them would differ in every
// source file (and gcc warns, -Wsubobject-linkage). destroy_cq_ex() takes the extended CQ as what
// it is.
inline int free_device_memory(ibv_dm* memory) {
  return ibv_free_dm(memory);
}
inline int dealloc_memory_window(ibv_mw* window) {
  return ibv_dealloc_mw(window);
}
inline int dealloc_thread_domain(ibv_td* domain) {
  return ibv_dealloc_td(domain);
}
inline int destroy_cq_ex(ibv_cq_ex* cq) {
  return ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

using DeviceList = std::unique_ptr<ibv_device*[], Destroyer<ibv_free_device_list>>;
using Context = std::unique_ptr<ibv_context, Destroyer<ibv_close_device>>;
using Pd = std::unique_ptr<ibv_pd, Destroyer<ibv_dealloc_pd>>;
using Td = std::unique_ptr<ibv_td, Destroyer<dealloc_thread_domain>>;
using Mr = std::unique_ptr<ibv_mr, Destroyer<ibv_dereg_mr>>;
using Dm = std::unique_ptr<ibv_dm, Destroyer<free_device_memory>>;
using Mw = std::unique_ptr<ibv_mw, Destroyer<dealloc_memory_window>>;
using CompChannel = std::unique_ptr<ibv_comp_channel, Destroyer<ibv_destroy_comp_channel>>;
using Cq = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;
using CqEx = std::unique_ptr<ibv_cq_ex, Destroyer<destroy_cq_ex>>;
using Srq = std::unique_ptr<ibv_srq, Destroyer<ibv_destroy_srq>>;
using Qp = std::unique_ptr<ibv_qp, Destroyer<ibv_destroy_qp>>;  ///< also of ibv_create_qp_ex
using Ah = std::unique_ptr<ibv_ah, Destroyer<ibv_destroy_ah>>;

}  // namespace rdmameter
