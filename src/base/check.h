#pragma once

#include "base/cat.h"
#include "base/error.h"

/// Always on. A failure is our bug: throws InternalError with place, condition and values.
#define CADENZA_CHECK(condition, ...)                                                         \
  do {                                                                                        \
    if (!(condition)) {                                                                       \
      throw ::cadenza::InternalError(                                                         \
          ::cadenza::cat("[", __FILE__, ":", __LINE__,                                        \
                         "] broken invariant: " #condition __VA_OPT__(, "; ", __VA_ARGS__))); \
    }                                                                                         \
  } while (false)
