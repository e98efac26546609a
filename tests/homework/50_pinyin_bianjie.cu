// 高性能计算 第二次大作业  juzhen.cu
// 编译: nvcc -O2 juzhen.cu -o juzhen
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#define KUAI 16   // 块大小

// hang: 行数, lie: 列数, zhong: 中间维
__global__ void juzhen_chengfa(float *jieguo, const float *zuo, const float *you,
                               int hang, int zhong, int lie)
{
    __shared__ float zuo_kuai[KUAI][KUAI];
    __shared__ float you_kuai[KUAI][KUAI];

    int r = blockIdx.y * KUAI + threadIdx.y;
    int c = blockIdx.x * KUAI + threadIdx.x;

    // 只有在矩阵范围内的线程才参与计算
    if (r < hang && c < lie) {
        float he = 0.0f;
        for (int k = 0; k < zhong; k += KUAI) {
            zuo_kuai[threadIdx.y][threadIdx.x] = zuo[r * zhong + k + threadIdx.x];
            you_kuai[threadIdx.y][threadIdx.x] = you[(k + threadIdx.y) * lie + c];
            __syncthreads();
            for (int i = 0; i < KUAI; i++)
                he += zuo_kuai[threadIdx.y][i] * you_kuai[i][threadIdx.x];
            __syncthreads();
        }
        jieguo[r * lie + c] = he;
    }
}

void suiji(float *p, int n)
{
    for (int i = 0; i < n; i++) p[i] = (float)(rand() % 1000) / 1000.0f;
}

int main(int argc, char **argv)
{
    // zhong 是 16 的倍数
    int hang = 300, zhong = 256, lie = 200;
    float *zuo, *you, *jieguo;
    float *d_zuo, *d_you, *d_jieguo;

    zuo = (float *)malloc(sizeof(float) * hang * zhong);
    you = (float *)malloc(sizeof(float) * zhong * lie);
    jieguo = (float *)malloc(sizeof(float) * hang * lie);
    suiji(zuo, hang * zhong);
    suiji(you, zhong * lie);

    cudaMalloc((void **)&d_zuo, sizeof(float) * hang * zhong);
    cudaMalloc((void **)&d_you, sizeof(float) * zhong * lie);
    cudaMalloc((void **)&d_jieguo, sizeof(float) * hang * lie);
    cudaMemcpy(d_zuo, zuo, sizeof(float) * hang * zhong, cudaMemcpyHostToDevice);
    cudaMemcpy(d_you, you, sizeof(float) * zhong * lie, cudaMemcpyHostToDevice);

    dim3 xiancheng(KUAI, KUAI);
    dim3 wangge((lie + KUAI - 1) / KUAI, (hang + KUAI - 1) / KUAI);
    juzhen_chengfa<<<wangge, xiancheng>>>(d_jieguo, d_zuo, d_you, hang, zhong, lie);
    cudaMemcpy(jieguo, d_jieguo, sizeof(float) * hang * lie, cudaMemcpyDeviceToHost);

    float zuida = 0;
    for (int i = 0; i < hang; i++)
        for (int j = 0; j < lie; j++) {
            float he = 0;
            for (int k = 0; k < zhong; k++) he += zuo[i * zhong + k] * you[k * lie + j];
            float cha = fabsf(he - jieguo[i * lie + j]);
            if (cha > zuida) zuida = cha;
        }
    printf("最大误差: %f\n", zuida);

    cudaFree(d_zuo); cudaFree(d_you); cudaFree(d_jieguo);
    free(zuo); free(you); free(jieguo);
    return 0;
}
