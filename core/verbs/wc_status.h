// SPDX-License-Identifier: Apache-2.0
// What a completion status means: its name, what happened, and what to look at.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmameter {

struct WcMeaning {
  std::string_view name;   ///< as in the man page of ibv_poll_cq: "IBV_WC_RETRY_EXC_ERR"
  std::string_view cause;  ///< what happened (IBTA vol. 1, "Completion Return Status")
  std::string_view hint;   ///< what to look at; empty: nothing is known to help
};

/// The meaning of any value, also of one that this header does not know.
WcMeaning wc_meaning(ibv_wc_status status);

/// "IBV_WC_RETRY_EXC_ERR on QP 0x11: cause. hint"
/// @param where       what completed, for the reader: "QP 0x11 on rxe0/1"
/// @param vendor_err  of the ibv_wc; shown unless 0
std::string wc_failure_text(ibv_wc_status status, std::string_view where,
                            std::uint32_t vendor_err = 0);

}  // namespace rdmameter
