// SPDX-License-Identifier: Apache-2.0
#include "bench/help_text.h"

#include "reports/text.h"

namespace rdmameter {

std::string help_text(std::string_view description) {
  std::string lines = wrap("", description, 79 - kHelpColumn);
  lines.pop_back();  // CLI11 ends the line itself
  return lines;
}

}  // namespace rdmameter
