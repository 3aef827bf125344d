// SPDX-License-Identifier: Apache-2.0
#include "core/base/error_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "core/base/error.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxUserBytes = 60;
std::array<char, kMaxUserBytes + 1> memory_user{"rdmameter"};

}  // namespace

void set_memory_user(std::string_view who) noexcept {
  memory_user.fill('\0');
  std::copy_n(who.data(), std::min(who.size(), kMaxUserBytes), memory_user.begin());
}

OutOfMemory::OutOfMemory(std::size_t bytes) noexcept {
  const std::size_t mib = (bytes + (std::size_t{1} << 20) - 1) >> 20;
  std::snprintf(text_.data(), text_.size(), "out of memory: %zu MiB were asked for by %s", mib,
                memory_user.data());
}

namespace {

/// Without "[json.exception.type_error.302] ", which is for programmers.
std::string_view without_number(std::string_view what) {
  const std::size_t end = what.find("] ");
  return what.starts_with('[') && end != what.npos ? what.substr(end + 2) : what;
}

}  // namespace

std::string error_text(const std::exception& error) {
  if (dynamic_cast<const nlohmann::json::exception*>(&error) != nullptr)
    return std::string("a value in JSON is not as it must be: ")
        .append(without_number(error.what()));
  if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  // A length that no memory has: a container was asked for it.
  if (dynamic_cast<const std::length_error*>(&error) != nullptr)
    return "out of memory: more was asked for than there can be";
  return error.what();
}

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
      throw UsageError("{}: {}", text, remedy);
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
