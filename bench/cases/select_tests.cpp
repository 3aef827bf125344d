// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/select_tests.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "bench/cases/words.h"
#include "core/base/error.h"

namespace rdmameter {
namespace {

bool matches(const std::string& pattern, const Test& test) {
  return pattern == "all" || fnmatch(pattern.c_str(), std::string(test.name).c_str(), 0) == 0;
}

[[noreturn]] void refuse(const std::string& text) {
  if (text.find(',') != std::string::npos)
    throw UsageError(
        fmt::format("there is no test '{}': tests are separated by blanks, not by commas", text));
  std::vector<std::string_view> names;
  for (const Test& test : catalog()) names.push_back(test.name);
  throw UsageError(fmt::format(
      "there is no test '{}'{} (`rdmameter run --list` prints them; also all, or a glob: '*_lat')",
      text, did_you_mean(text, names)));
}

}  // namespace

bool names_test(std::string_view text) {
  return std::ranges::any_of(catalog(), [pattern = std::string(text)](const Test& test) {
    return matches(pattern, test);
  });
}

std::vector<const Test*> select_tests(std::span<const std::string> texts) {
  std::vector<const Test*> selected;
  for (const std::string& text : texts) {
    if (!names_test(text)) refuse(text);
    for (const Test& test : catalog())
      if (matches(text, test) && std::ranges::find(selected, &test) == selected.end())
        selected.push_back(&test);
  }
  return selected;
}

std::string catalog_text() {
  std::string text;
  for (const Test& test : catalog())
    text += fmt::format("{:<20}  {}\n", test.name, test.description);
  return text;
}

}  // namespace rdmameter
