// SPDX-License-Identifier: Apache-2.0
#include "bench/token.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/session/auth.h"

namespace rdmameter {
namespace {

std::string first_line(const std::string& file) {
  std::ifstream stream(file);
  std::string line;
  if (!stream || !std::getline(stream, line))
    throw UsageError(fmt::format("--token-file {}: {}", file,
                                 errno != 0 ? std::strerror(errno) : "it is empty"));
  return line;
}

}  // namespace

std::string read_token(const std::string& file) {
  errno = 0;
  const char* variable = std::getenv(kTokenVariable);
  if (file.empty() && variable == nullptr) return {};
  const std::string token = file.empty() ? variable : first_line(file);
  const std::string origin = file.empty() ? kTokenVariable : "--token-file " + file;
  if (const std::string why = why_bad_token(token); !why.empty())
    throw UsageError(origin + ": " + why);
  return token;
}

}  // namespace rdmameter
