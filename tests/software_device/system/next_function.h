// SPDX-License-Identifier: Apache-2.0
// The function that this library stands in for.
#pragma once

#include <dlfcn.h>

namespace rdmameter::software {

template <class Function>
Function* next_of(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace rdmameter::software
