// Included by second_looks.cu.
#pragma once

__device__ float dot(const float *a, const float *b, int n, int stride) {
    float row[8];
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        row[i] = a[i];  // K = 9: one element too many
        sum += row[i] * b[i * stride];
    }
    return sum;
}
