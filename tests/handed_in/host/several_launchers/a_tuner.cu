#include "mm.cuh"
#include "tuner.h"
int main(int argc, char **argv) {
    Config c = load_config(argv[1]);
    mm<16><<<dim3(c.gx, c.gy), dim3(c.bx, c.by)>>>(c.a, c.b, c.c, c.m, c.n, c.k);
}
