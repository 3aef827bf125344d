// SPDX-License-Identifier: Apache-2.0
#include "core/base/error_text.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

#include "core/base/out_of_memory.h"

namespace rdmameter {
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

}  // namespace rdmameter
