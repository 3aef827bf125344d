// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rdmameter {

/// Do all ranks connect before the first message of any, or two of them when there is one?
enum class ConnectWhen { at_start, first_use };

}  // namespace rdmameter
