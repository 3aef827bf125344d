// SPDX-License-Identifier: Apache-2.0
// Reading the kernel's one-value files. What is not there is not known: nullopt, never
// a made-up value.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace rdmameter {

/// First line of a file, without surrounding blanks; nullopt where it cannot be read or is empty.
std::optional<std::string> read_line(const std::filesystem::path& file);

/// The file's decimal number; nullopt where it cannot be read or is anything else.
std::optional<std::int64_t> read_number(const std::filesystem::path& file);

/// Reads a count, which uses all 64 bits.
std::optional<std::uint64_t> read_count(const std::filesystem::path& file);

}  // namespace rdmameter
