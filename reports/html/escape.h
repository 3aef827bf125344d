// SPDX-License-Identifier: Apache-2.0
// Text that may stand in a page, whatever a result's author put into it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace rdmameter {

/// JSON for a <script> element: pure ASCII, without any of < > &, so that nothing in it ends the
/// element or begins a comment.
std::string script_json(const nlohmann::ordered_json& json);

/// For a URL's fragment: percent-encoded but for what stands there as it is (RFC 3986: "/",
/// ":"...).
std::string fragment_text(std::string_view text);

}  // namespace rdmameter
