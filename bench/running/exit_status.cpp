// SPDX-License-Identifier: Apache-2.0
#include "bench/running/exit_status.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace rdmameter {

ExitStatus status_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const UsageError&) {
    return ExitStatus::usage;
  } catch (const Unsupported&) {  // outside of a case: the only thing asked for cannot be done
    return ExitStatus::usage;
  } catch (const UnusableDevice&) {
    return ExitStatus::failed;
  } catch (const NoDevice&) {
    return ExitStatus::no_device;
  } catch (const Interrupted&) {
    return ExitStatus::interrupted;
  } catch (...) {  // VerbsError, MeasurementError, a result that cannot be written, no memory
    return ExitStatus::failed;
  }
}

void throw_ended(const std::string& who, int status, const std::string& remedy) {
  const std::string text = fmt::format("{} ended with status {}", who, status);
  switch (static_cast<ExitStatus>(status)) {
    case ExitStatus::usage:
      throw UsageError(fmt::format("{}: {}", text, remedy));
    case ExitStatus::no_device:
      throw NoDevice(text);
    case ExitStatus::interrupted:
      throw Interrupted(text);
    case ExitStatus::pass:
    case ExitStatus::regression:
    case ExitStatus::inconclusive:
    case ExitStatus::failed:
      break;
  }
  throw MeasurementError(text);
}

}  // namespace rdmameter
