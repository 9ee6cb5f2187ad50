#pragma once

#include <string>

#include "planner/strategy.h"

namespace cadenza {

/// Why a server got the work that it got, in words: what it holds, what that would cost it, what it
/// gives and gets, and what has to travel for it. From plan and request alone, for any strategy.
/// ConfigError where there is no such server.
std::string explain_server(const Plan& plan, const PlanRequest& request, int server);

}  // namespace cadenza
