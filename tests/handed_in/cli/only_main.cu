#include <cstdio>
#include "matmul_kernels.h"

int main() {
    printf("max error %g\n", run_all_kernels(1024));
    return 0;
}
