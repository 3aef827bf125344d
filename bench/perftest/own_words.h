// SPDX-License-Identifier: Apache-2.0
// Messages are written for `rdmameter run`, whose options perftest's tools do not have.
#pragma once

#include <string>
#include <string_view>

namespace rdmameter {

/// The message with each option of `rdmameter run` as perftest's option: "-c RC" for
/// "--transport rc", "-i" for "--port-num". One that perftest has not is named as an option of
/// `rdmameter run`.
std::string in_words_of_perftest(std::string_view message);

}  // namespace rdmameter
