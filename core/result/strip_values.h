// SPDX-License-Identifier: Apache-2.0
// A result's text without its bulk: a file of 10,000 histograms is read in a fraction of a second.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rdmameter {

/// The JSON text with null in the place of every object or array that stands under one of the keys,
/// at whatever depth. What is left out is not looked at beyond its quotes and brackets; text that
/// is no JSON comes out as text that is none.
std::string strip_values(std::string_view json, std::span<const std::string_view> keys);

}  // namespace rdmameter
