// SPDX-License-Identifier: Apache-2.0
#include "bench/options/token.h"

#include <cstdlib>

#include "core/base/error.h"
#include "core/base/input_file.h"
#include "core/wire/auth.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxTokenFileBytes = 4096;  ///< far beyond a line that holds a token

std::string first_line(const std::string& file) {
  const std::string name = "--token-file " + file;
  const std::string text = read_input(
      file, {.name = name, .max_bytes = kMaxTokenFileBytes, .beginning = true, .secret = true});
  if (text.empty()) throw UsageError(name + ": it is empty");
  return text.substr(0, text.find('\n'));
}

}  // namespace

std::string read_token(const std::string& file) {
  const char* variable = std::getenv(kTokenVariable);
  if (file.empty() && variable == nullptr) return {};
  const std::string token = file.empty() ? variable : first_line(file);
  const std::string origin = file.empty() ? kTokenVariable : "--token-file " + file;
  if (const std::string why = why_bad_token(token); !why.empty())
    throw UsageError(origin + ": " + why);
  return token;
}

}  // namespace rdmameter
