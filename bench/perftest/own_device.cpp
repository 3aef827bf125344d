// SPDX-License-Identifier: Apache-2.0
#include "bench/perftest/own_device.h"

#include "core/base/error.h"
#include "core/base/printable.h"
#include "core/engine/device/open_device.h"
#include "core/log/tell.h"

namespace rdmameter {

void tell_no_device(const PerftestPlan& plan) {
  if (!plan.own.device.empty()) tell("IB device {} not found\n", printable(plan.own.device));
  tell_text(" Unable to find the Infiniband/RoCE device\n");
}

void require_own_device(const PerftestPlan& plan) {
  try {
    open_for_run(plan.own.device, plan.own.port_num, plan.own.gid_index);
  } catch (const NoDevice&) {
    tell_no_device(plan);
    throw;
  } catch (const std::exception&) {
    tell_text(" Couldn't get context for the device\n");
    throw;
  }
}

}  // namespace rdmameter
