// SPDX-License-Identifier: Apache-2.0
#include "bench/running/exit_status.h"

#include "core/base/error.h"

namespace rdmameter {

ExitStatus status_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const UsageError&) {
    return ExitStatus::usage;
  } catch (const Unsupported&) {  // outside of a case: the only thing asked for cannot be done
    return ExitStatus::usage;
  } catch (const NoDevice&) {
    return ExitStatus::no_device;
  } catch (const Interrupted&) {
    return ExitStatus::interrupted;
  } catch (...) {  // VerbsError, MeasurementError, a result that cannot be written, no memory
    return ExitStatus::failed;
  }
}

}  // namespace rdmameter
