// The functions of C++'s <math.h>, such as sqrt and fmaxf. A compiler needs as long for them as for everything
// else that a kernel includes, and few kernels call one.
#pragma once

#include "cuda_on_cpu.h"

#include <math.h>
