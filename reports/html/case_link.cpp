// SPDX-License-Identifier: Apache-2.0
#include "reports/html/case_link.h"

#include <fmt/core.h>

#include <algorithm>

#include "reports/html/escape.h"
#include "reports/text/text.h"

namespace rdmameter {

namespace {

/// Long names break after their slashes.
std::string breakable(const std::string& name) {
  std::string text;
  for (const char c : markup_text(name))
    text += c == '/' ? std::string("/<wbr>") : std::string(1, c);
  return text;
}

}  // namespace

std::string case_link(const PageCase& one) {
  const bool drawn = std::any_of(one.of_file.begin(), one.of_file.end(), [](const auto& numbers) {
    return numbers && !latency_kind(*numbers).empty();
  });
  if (!drawn) return breakable(one.label);
  return fmt::format("<a class=case href=\"#case={}\">{}</a>", fragment_text(one.name),
                     breakable(one.label));
}

}  // namespace rdmameter
