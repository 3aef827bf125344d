// SPDX-License-Identifier: Apache-2.0
// The writers of export/, one for each format; see ExportFormat::write.
#pragma once

#include <span>
#include <string>

#include "core/result/result_file.h"

namespace rdmameter {

std::string to_openmetrics(std::span<const ResultFile> files);
std::string to_github_smaller(std::span<const ResultFile> files);
std::string to_github_bigger(std::span<const ResultFile> files);
std::string to_bmf(std::span<const ResultFile> files);
std::string to_otava(std::span<const ResultFile> files);
std::string to_hgrm(std::span<const ResultFile> files);
std::string to_hdr_log(std::span<const ResultFile> files);

}  // namespace rdmameter
