// SPDX-License-Identifier: Apache-2.0
// What makes each shape; see the table in topologies/graphs.cpp.
#pragma once

#include <string>

#include "topologies/graph.h"

namespace rdmameter {

Graph make_mesh(const ShapeArguments&, Rank ranks);
Graph make_ring(const ShapeArguments&, Rank ranks);
Graph make_star(const ShapeArguments&, Rank ranks);

std::string why_no_kring(const ShapeArguments&, Rank ranks);
Graph make_kring(const ShapeArguments&, Rank ranks);

std::string why_no_hypercube(const ShapeArguments&, Rank ranks);
Graph make_hypercube(const ShapeArguments&, Rank ranks);

std::string why_no_torus2d(const ShapeArguments&, Rank ranks);
Graph make_torus2d(const ShapeArguments&, Rank ranks);

std::string why_no_random_regular(const ShapeArguments&, Rank ranks);
Graph make_random_regular(const ShapeArguments&, Rank ranks);

}  // namespace rdmameter
