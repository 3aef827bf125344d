// SPDX-License-Identifier: Apache-2.0
#include "bench/options/help_text.h"

#include "reports/text/text.h"

namespace rdmameter {

std::string help_text(std::string_view description) {
  std::string lines = wrap("", description, 79 - kHelpColumn);
  lines.pop_back();  // CLI11 ends the line itself
  return lines;
}

std::string more_axes_text(const std::vector<const CLI::Option*>& options) {
  std::string names;
  for (const CLI::Option* option : options) names += option->get_name() + " ";
  return std::string("\n") + kMoreAxes +
         ", which --help-all describes, and --help AXIS one of them:\n" + wrap("  ", names, 79);
}

}  // namespace rdmameter
