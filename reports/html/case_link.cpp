// SPDX-License-Identifier: Apache-2.0
#include "reports/html/case_link.h"

#include <fmt/core.h>

#include <algorithm>

#include "reports/html/escape.h"

namespace rdmameter {

std::string case_link(const PageCase& one) {
  const bool drawn = std::any_of(one.of_file.begin(), one.of_file.end(), [](const auto& numbers) {
    return numbers && !latency_kind(*numbers).empty();
  });
  if (!drawn) return html_text(one.name);
  return fmt::format("<a class=case href=\"#case={}\">{}</a>", fragment_text(one.name),
                     html_text(one.name));
}

}  // namespace rdmameter
