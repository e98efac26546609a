// For kernels that include <mma.h> and do not use it: the CPU device has none of its types.
#pragma once
