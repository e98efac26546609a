// Vector types that few kernels use.
#pragma once
#include "cuda_on_cpu.h"

CUDAMM_VECTORS(signed char, char, 1)
CUDAMM_VECTORS(unsigned char, uchar, 1)
CUDAMM_VECTORS(short, short, 2)
CUDAMM_VECTORS(unsigned short, ushort, 2)
CUDAMM_VECTORS(long, long, 8)
CUDAMM_VECTORS(unsigned long, ulong, 8)
CUDAMM_VECTORS(long long, longlong, 8)
CUDAMM_VECTORS(unsigned long long, ulonglong, 8)
