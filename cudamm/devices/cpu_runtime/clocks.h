// Clocks, which count nanoseconds here.
#pragma once
#include "waiting.h"

#include <time.h>  // which declares `clock`, defined in runtime.cpp

inline long long clock64() { return cudamm::nanoseconds(); }
