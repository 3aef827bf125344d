// SPDX-License-Identifier: Apache-2.0
// The writers of export/, one for each format; see ExportFormat::write.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/result/result_file.h"

namespace rdmameter {

/// The text of a JSON, in whose strings each character beyond ASCII that a terminal would obey
/// (U+202E) is escaped: it reads as before. JSON itself escapes those of ASCII.
std::string escaped_json(std::string_view json);

std::string to_openmetrics(std::span<const ResultFile> files);
std::string to_github_smaller(std::span<const ResultFile> files);
std::string to_github_bigger(std::span<const ResultFile> files);
std::string to_bmf(std::span<const ResultFile> files);
std::string to_otava(std::span<const ResultFile> files);
std::string to_hgrm(std::span<const ResultFile> files);
std::string to_hdr_log(std::span<const ResultFile> files);

}  // namespace rdmameter
