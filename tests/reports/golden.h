// SPDX-License-Identifier: Apache-2.0
// Texts that are kept, in tests/reports/golden, and compared with what is made now.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "reports/text/text.h"
#include "tests/reports/samples.h"

namespace rdmameter {

// Of a terminal of 80 columns.
const TextStyle kPlain{.width = 80, .utf8 = true, .color = false};
const TextStyle kAscii{.width = 80, .utf8 = false, .color = false};

/// Fails where `text` is not the golden file's; with RDMAMETER_REGENERATE_GOLDEN it becomes that.
inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GOLDEN_DIRECTORY) + "/" + name;
  if (std::getenv("RDMAMETER_REGENERATE_GOLDEN") != nullptr) write_file(path, text);
  EXPECT_EQ(text, read_file(path)) << path;
}

}  // namespace rdmameter
