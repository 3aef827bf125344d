// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/verbs/qp_transition.h"

#include <algorithm>
#include <array>

namespace rdmameter::software {
namespace {

struct Transition {
  ibv_qp_state from, to;
  unsigned types;  ///< a bit for each
  int required, optional;
};

constexpr int kPortAttributes = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kAddress = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kAlternate = IBV_QP_ALT_PATH | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
constexpr int kRetries =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN;
constexpr int kRtsOptional = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
                             IBV_QP_PATH_MIG_STATE | IBV_QP_MIN_RNR_TIMER;

constexpr unsigned kRc = 1U << IBV_QPT_RC, kUc = 1U << IBV_QPT_UC, kUd = 1U << IBV_QPT_UD;

constexpr std::array kTransitions{
    Transition{IBV_QPS_RESET, IBV_QPS_INIT, kRc | kUc, kPortAttributes | IBV_QP_ACCESS_FLAGS, 0},
    Transition{IBV_QPS_RESET, IBV_QPS_INIT, kUd, kPortAttributes | IBV_QP_QKEY, 0},
    Transition{IBV_QPS_INIT, IBV_QPS_INIT, kRc | kUc, 0, kPortAttributes | IBV_QP_ACCESS_FLAGS},
    Transition{IBV_QPS_INIT, IBV_QPS_INIT, kUd, 0, kPortAttributes | IBV_QP_QKEY},
    Transition{IBV_QPS_INIT, IBV_QPS_RTR, kRc,
               kAddress | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, kAlternate},
    Transition{IBV_QPS_INIT, IBV_QPS_RTR, kUc, kAddress, kAlternate},
    Transition{IBV_QPS_INIT, IBV_QPS_RTR, kUd, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},
    Transition{IBV_QPS_RTR, IBV_QPS_RTS, kRc, kRetries, kRtsOptional},
    Transition{IBV_QPS_RTR, IBV_QPS_RTS, kUc, IBV_QP_SQ_PSN, kRtsOptional},
    Transition{IBV_QPS_RTR, IBV_QPS_RTS, kUd, IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    Transition{IBV_QPS_RTS, IBV_QPS_RTS, kRc | kUc, 0, kRtsOptional},
    Transition{IBV_QPS_RTS, IBV_QPS_RTS, kUd, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    Transition{IBV_QPS_RTS, IBV_QPS_SQD, kRc | kUc | kUd, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    Transition{IBV_QPS_SQD, IBV_QPS_RTS, kRc | kUc, 0, kRtsOptional},
    Transition{IBV_QPS_SQD, IBV_QPS_RTS, kUd, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
    Transition{IBV_QPS_SQE, IBV_QPS_RTS, kUc, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
    Transition{IBV_QPS_SQE, IBV_QPS_RTS, kUd, 0, IBV_QP_CUR_STATE | IBV_QP_QKEY},
};

}  // namespace

bool allows(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) {
  const int attributes = mask & ~IBV_QP_STATE;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return (attributes & ~IBV_QP_CUR_STATE) == 0;
  return std::ranges::any_of(kTransitions, [&](const Transition& known) {
    return (known.types & (1U << type)) != 0 && known.from == from && known.to == to &&
           (attributes & known.required) == known.required &&
           (attributes & ~(known.required | known.optional)) == 0;
  });
}

}  // namespace rdmameter::software
