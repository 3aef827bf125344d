#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes reports/html/assets.cpp: files as text in the program.

Usage: embed.py OUTPUT NAME=FILE...
"""
import sys

DELIMITER = "rdmameter"

HEAD = """// Made by reports/html/embed.py.
#include "reports/html/assets.h"

#include <array>
#include <utility>

// C++ asks compilers to take 65536 characters; those that build this take any number.
#pragma GCC diagnostic ignored "-Woverlength-strings"

namespace rdmameter {

std::string_view asset(std::string_view name) {
  using namespace std::string_view_literals;
  static constexpr std::pair<std::string_view, std::string_view> kAssets[] = {
      {"", ""},
"""
TAIL = """  };
  for (const auto& [known, text] : kAssets)
    if (known == name) return text;
  return {};
}

}  // namespace rdmameter
"""


def inline(name, text):
    """A script ends at the first "</script", whatever stands around it; so says HTML."""
    if name.endswith(".js"):
        text = text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return text


def literal(text):
    assert f"){DELIMITER}\"" not in text
    return f'R"{DELIMITER}({text}){DELIMITER}"sv'


def main(output, *files):
    with open(output, "w", encoding="utf-8") as made:
        made.write(HEAD)
        for name, path in (argument.split("=", 1) for argument in files):
            with open(path, encoding="utf-8") as file:
                made.write(f'      {{"{name}", {literal(inline(name, file.read()))}}},\n')
        made.write(TAIL)


if __name__ == "__main__":
    main(*sys.argv[1:])
