// SPDX-License-Identifier: Apache-2.0
#include "core/engine/payload_file.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/input_file.h"

namespace rdmameter {
namespace {

std::string beginning_of(const std::string& path) {
  std::string bytes;
  try {
    bytes = read_input(
        path,
        {.name = "--payload file:" + path, .max_bytes = kMaxPayloadFileBytes, .beginning = true});
  } catch (const UsageError& error) {  // the case's failure, not the run's
    throw VerbsError(error.what(), 0);
  }
  if (bytes.empty())
    throw Unsupported(
        fmt::format("--payload file:{}: the file is empty, and holds no messages", path));
  return bytes;
}

}  // namespace

TestCase with_payload(const TestCase& test_case) {
  TestCase new_case = test_case;
  if (new_case.payload.starts_with(kFileMemory))
    new_case.payload_bytes = beginning_of(new_case.payload.substr(kFileMemory.size()));
  return new_case;
}

}  // namespace rdmameter
