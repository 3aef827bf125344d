// SPDX-License-Identifier: Apache-2.0
// Which tests of the catalog people name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/test_case/catalog.h"

namespace rdmameter {

/// Is this text a test's name, `all`, or a glob that matches one?
bool names_test(std::string_view text);

/// The tests that the texts name, each once, in the order of the texts.
/// @throws UsageError for one that names none, with the nearest that does
std::vector<const Test*> select_tests(std::span<const std::string> texts);

/// `run --list`: a line per test.
std::string catalog_text();

}  // namespace rdmameter
