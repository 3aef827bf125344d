// SPDX-License-Identifier: Apache-2.0
// A report into a file, whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace rdmameter {

/// Writes the text to a file beside `path` and moves that there, so that whoever reads (Prometheus'
/// collector, a browser) never sees half of it. What is no regular file (a pipe, /dev/stdout) is
/// written directly; "-" is stdout.
/// @throws UsageError       it cannot be opened
/// @throws ResultFileError  it cannot be written; what was there before is as it was
void write_text_file(const std::string& path, std::string_view text);

}  // namespace rdmameter
