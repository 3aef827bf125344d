// SPDX-License-Identifier: Apache-2.0
// Names of cases where they stand together: what all of them have is told once, beside them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rdmameter {

/// "axis:value" parts that all names have ("write_lat/rc/size:64" has one), in their order. Of a
/// single name: none, as nothing stands beside it.
std::vector<std::string> common_parts(std::span<const std::string> names);

/// The name without these parts.
std::string without_parts(const std::string& name, std::span<const std::string> parts);

/// A name in lines that fit, broken after a slash where it is too long for one; ends in '\n'.
std::string name_lines(const std::string& name, std::size_t width);

}  // namespace rdmameter
