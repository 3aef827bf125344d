// SPDX-License-Identifier: Apache-2.0
// The one place that gives a library's exceptions texts of ours. Code that shows, logs or sends why
// something failed asks here, not what() (tests/style/json_access_test.py).
#pragma once

#include <exception>
#include <string>

namespace rdmameter {

/// Of our own exceptions this is what(). A type or key that the JSON library misses and an
/// allocation that failed have a sentence; a caller that knows the file, row or field
/// names it before.
std::string error_text(const std::exception& error);

}  // namespace rdmameter
