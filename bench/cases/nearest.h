// SPDX-License-Identifier: Apache-2.0
// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rdmameter {

/// The known word that `typed` is most likely meant to be, by edits (a letter added, left out,
/// changed, or two neighbours swapped); empty: none is within half of its letters.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> known);

/// "; did you mean 'send_lat'?", or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known,
                         std::string_view prefix = "");

}  // namespace rdmameter
