// SPDX-License-Identifier: Apache-2.0
// A report into a file, whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace rdmameter {

/// Writes the text to a file beside `path` and moves that there, so that a reader (Prometheus'
/// collector, a browser) never sees half of it. A pipe, a device or /dev/stdout is written
/// directly; "-" is stdout.
/// @throws UsageError       nothing can be written there (core/result/output_file.h)
/// @throws ResultFileError  it cannot be written; what was there before is as it was
void write_text_file(const std::string& path, std::string_view text);

/// Adds the text at the end of a file, which is made where there is none. As for write_text_file(),
/// but a reader may see a part.
void append_to_file(const std::string& path, std::string_view text);

}  // namespace rdmameter
