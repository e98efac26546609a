// Kernels often begin with #include <device_launch_parameters.h>; on the CPU device everything it declares is already there.
#pragma once
#include "cuda_on_cpu.h"
