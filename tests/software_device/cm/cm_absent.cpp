// SPDX-License-Identifier: Apache-2.0
// The calls of rdma_cm that the software device does not have: each ends the program by its name.
#include "tests/software_device/segment/process.h"

// The symbol alone has the call's name: <rdma/rdma_cma.h> declares that with its own parameters.
#define RDMAMETER_ABSENT(call)                         \
  [[noreturn]] void absent_##call() __asm__(#call);    \
  void absent_##call() {                               \
    rdmameter::software::die("it has no " #call "()"); \
  }

RDMAMETER_ABSENT(rdma_create_qp)
RDMAMETER_ABSENT(rdma_create_qp_ex)
RDMAMETER_ABSENT(rdma_create_srq)
RDMAMETER_ABSENT(rdma_create_srq_ex)
RDMAMETER_ABSENT(rdma_destroy_ep)
RDMAMETER_ABSENT(rdma_destroy_qp)
RDMAMETER_ABSENT(rdma_destroy_srq)
RDMAMETER_ABSENT(rdma_get_devices)
RDMAMETER_ABSENT(rdma_get_request)
RDMAMETER_ABSENT(rdma_notify)
RDMAMETER_ABSENT(rdma_join_multicast_ex)
RDMAMETER_ABSENT(rdma_reject_ece)

#undef RDMAMETER_ABSENT
