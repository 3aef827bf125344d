// SPDX-License-Identifier: Apache-2.0
// The verbs objects of this process: what a program holds pointers to. Each begins with the struct
// of <infiniband/verbs.h>, so that a pointer to one is a pointer to the other.
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <list>
#include <mutex>
#include <vector>

#include "tests/software_device/queues/completion_queue.h"
#include "tests/software_device/queues/queue_pair.h"
#include "tests/software_device/queues/receive_queue.h"

namespace rdmameter::software {

struct Device {
  ibv_device base{};
  std::byte provider[4096]{};  ///< other libraries look for their own provider behind `base`
  std::uint32_t index = 0;
};

struct Context {
  verbs_context verbs{};
  std::uint32_t device = 0;
};

struct Td : ibv_td {
  std::atomic<std::uint32_t> users{0};  ///< parent domains of it
};

/// What is for one thread at a time: two in it at once end the program.
class OneAtATime {
 public:
  OneAtATime(std::atomic<bool>& busy, bool wanted, const char* what)
      : busy_(wanted ? &busy : nullptr) {
    if (busy_ != nullptr && busy_->exchange(true, std::memory_order_acquire)) end(what);
  }
  ~OneAtATime() {
    if (busy_ != nullptr) busy_->store(false, std::memory_order_release);
  }
  OneAtATime(const OneAtATime&) = delete;
  OneAtATime& operator=(const OneAtATime&) = delete;

 private:
  [[noreturn]] static void end(const char* what);  // memory_verbs.cpp

  std::atomic<bool>* const busy_;
};

struct Pd : ibv_pd {
  Pd* parent = nullptr;  ///< not null: this is a parent domain, of that one and of a thread domain
  Td* td = nullptr;
  std::atomic<std::uint32_t> users{0};  ///< objects that it must outlive
};

struct Mr : ibv_mr {
  void* pages = nullptr;  ///< of a dma-buf, which the device has mapped; null: none
  std::size_t page_bytes = 0;
};

struct Channel;
struct Cq {
  ibv_cq_ex base{};  ///< an ibv_cq is its beginning
  Offset<SharedCq> shared{};
  Channel* channel = nullptr;
  std::atomic<std::uint32_t> users{0};  ///< QPs that complete here
  bool single_threaded = false;
  std::atomic<bool> busy{false};
  std::uint64_t polled_receives = 0;            ///< changed with the consumers' lock held
  std::atomic<std::uint64_t> held_until_ns{0};  ///< by a fault: until then it shows nothing
  Cqe current;  ///< of the extended interface: between start and end
};
static_assert(offsetof(Cq, base) == 0);

struct Channel : ibv_comp_channel {
  std::uint32_t id = 0;
  std::mutex mutex;
  std::list<Cq*> cqs;  ///< the one that raised the latest event is the last
};

struct Srq : ibv_srq {
  Offset<SharedRq> shared{};
  std::atomic<std::uint32_t> users{0};
};

/// Requests between ibv_wr_start() and ibv_wr_complete().
struct StagedRequest {
  ibv_send_wr wr{};
  std::vector<ibv_sge> sges;
  std::vector<std::byte> bytes;  ///< of inline data
};

struct Qp {
  ibv_qp_ex base{};  ///< an ibv_qp is its beginning
  Offset<SharedQp> shared{};
  Offset<SharedRq> own_rq{};  ///< nowhere if it takes from an SRQ
  ibv_qp_init_attr made_with{};
  ibv_qp_attr attributes{};
  std::optional<std::uint32_t> ece_options;  ///< set by ibv_set_ece()
  bool has_builder = false;
  bool single_threaded = false;  ///< of a thread domain
  std::atomic<bool> busy{false};
  std::mutex building;
  std::vector<StagedRequest> staged;
  std::size_t staged_count = 0;
};
static_assert(offsetof(Qp, base) == 0);

inline Device& to_ours(ibv_device* device) {
  return *reinterpret_cast<Device*>(device);
}
inline Context& to_ours(ibv_context& context) {
  return *reinterpret_cast<Context*>(reinterpret_cast<std::byte*>(&context) -
                                     offsetof(verbs_context, context));
}
inline std::uint32_t device_of(ibv_context* context) {
  return to_ours(*context).device;
}
inline Pd& to_ours(ibv_pd* pd) {
  return *static_cast<Pd*>(pd);
}
inline Td& to_ours(ibv_td* td) {
  return *static_cast<Td*>(td);
}
inline Cq& to_ours(ibv_cq* cq) {
  return *reinterpret_cast<Cq*>(cq);
}
inline Cq& to_ours(ibv_cq_ex* cq) {
  return *reinterpret_cast<Cq*>(cq);
}
inline Srq& to_ours(ibv_srq* srq) {
  return *static_cast<Srq*>(srq);
}
inline Qp& to_ours(ibv_qp* qp) {
  return *reinterpret_cast<Qp*>(qp);
}
inline Qp& to_ours(ibv_qp_ex* qp) {
  return *reinterpret_cast<Qp*>(qp);
}

/// Are all of these rights ones that verbs knows?
inline bool known_rights(unsigned access) {
  // IBV_ACCESS_FLUSH_PERSISTENT of rdma-core 45 is the last one that is no mere hint.
  constexpr unsigned kKnown = (IBV_ACCESS_HUGETLB << 3) - 1;
  return (access & ~(kKnown | IBV_ACCESS_OPTIONAL_RANGE)) == 0;
}

/// Rights that a peer needs.
inline bool opens_memory(unsigned access) {
  return (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)) !=
         0;
}

/// For calls that tell errors by NULL and errno.
template <class Object>
Object* fail(int error) {
  errno = error;
  return static_cast<Object*>(nullptr);
}

// What a context's table of functions has, by the file that defines it.
void set_memory_operations(verbs_context& verbs);      // memory_verbs.cpp
void set_completion_operations(verbs_context& verbs);  // cq_verbs.cpp
void set_queue_pair_operations(verbs_context& verbs);  // qp_verbs.cpp
void set_builder_operations(ibv_qp_ex& qp);            // builder.cpp

}  // namespace rdmameter::software
