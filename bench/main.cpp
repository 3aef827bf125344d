// SPDX-License-Identifier: Apache-2.0
#include "bench/program.h"

int main(int argc, char** argv) {
  return rdmameter::run_program(argc, argv);
}
