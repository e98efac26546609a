// For kernels with #include <driver_types.h>. On the CPU device cuda_on_cpu.h contains the declarations.
#pragma once
#include "cuda_on_cpu.h"
