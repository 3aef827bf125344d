// SPDX-License-Identifier: Apache-2.0
#include "core/base/capability.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace rdmameter {

bool has_capability(unsigned capability, const std::filesystem::path& status) {
  constexpr std::string_view kKey = "CapEff:";
  constexpr int kHexadecimal = 16;
  std::ifstream stream(status);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(kKey))
      return ((std::strtoull(line.c_str() + kKey.size(), nullptr, kHexadecimal) >> capability) &
              1U) != 0;
  return false;
}

}  // namespace rdmameter
