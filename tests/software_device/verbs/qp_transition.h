// SPDX-License-Identifier: Apache-2.0
// Which changes of a QP's state ibv_modify_qp() allows, and what each needs.
#pragma once

#include <infiniband/verbs.h>

namespace rdmameter::software {

/// IBTA 11.2.5.2, as the kernel checks it: is this a change that a QP of the type can make, with
/// all attributes that it needs and none that it does not take?
bool allows(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask);

}  // namespace rdmameter::software
