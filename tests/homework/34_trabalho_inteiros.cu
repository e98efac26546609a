// Trabalho 2 - Programação Paralela
// Multiplicação de matrizes de inteiros com memória compartilhada
#include <cstdio>
#include <cstdlib>
#include <cstring>

constexpr int LADO = 8;

__global__ void multiplicaMatrizes(int *c, const int *a, const int *b,
                                   int linhasA, int colunasA, int colunasB)
{
  __shared__ int sa[LADO * LADO];
  __shared__ int sb[LADO * LADO];

  const int lin = blockIdx.y * LADO + threadIdx.y;
  const int col = blockIdx.x * LADO + threadIdx.x;
  const int local = threadIdx.y * LADO + threadIdx.x;

  int soma = 0;
  const int passos = (colunasA + LADO - 1) / LADO;
  for (int p = 0; p < passos; ++p) {
    const int ca = p * LADO + threadIdx.x;   // coluna em A
    const int lb = p * LADO + threadIdx.y;   // linha em B
    sa[local] = 0;
    sb[local] = 0;
    if (lin < linhasA && ca < colunasA) sa[local] = a[lin * colunasA + ca];
    if (lb < colunasA && col < colunasB) sb[local] = b[lb * colunasB + col];
    __syncthreads();

    for (int k = 0; k < LADO; ++k)
      soma += sa[threadIdx.y * LADO + k] * sb[k * LADO + threadIdx.x];

    __syncthreads();
  }

  if (lin < linhasA && col < colunasB)
    c[lin * colunasB + col] = soma;
}

static void sequencial(int *c, const int *a, const int *b, int la, int ca, int cb)
{
  memset(c, 0, sizeof(int) * la * cb);
  for (int i = 0; i < la; i++)
    for (int k = 0; k < ca; k++)
      for (int j = 0; j < cb; j++)
        c[i * cb + j] += a[i * ca + k] * b[k * cb + j];
}

int main(int argc, char **argv)
{
  if (argc != 4) {
    printf("uso: %s linhasA colunasA colunasB\n", argv[0]);
    return 1;
  }
  const int la = atoi(argv[1]), ca = atoi(argv[2]), cb = atoi(argv[3]);
  if (la < 1 || ca < 1 || cb < 1 || la > 4096 || ca > 4096 || cb > 4096) {
    printf("dimensao invalida\n");
    return 1;
  }

  int *a = (int *)malloc(sizeof(int) * la * ca);
  int *b = (int *)malloc(sizeof(int) * ca * cb);
  int *c = (int *)malloc(sizeof(int) * la * cb);
  int *r = (int *)malloc(sizeof(int) * la * cb);
  for (int i = 0; i < la * ca; i++) a[i] = rand() % 100;
  for (int i = 0; i < ca * cb; i++) b[i] = rand() % 100;

  int *a_d, *b_d, *c_d;
  cudaMalloc(&a_d, sizeof(int) * la * ca);
  cudaMalloc(&b_d, sizeof(int) * ca * cb);
  cudaMalloc(&c_d, sizeof(int) * la * cb);
  cudaMemcpy(a_d, a, sizeof(int) * la * ca, cudaMemcpyHostToDevice);
  cudaMemcpy(b_d, b, sizeof(int) * ca * cb, cudaMemcpyHostToDevice);

  multiplicaMatrizes<<<dim3((cb + LADO - 1) / LADO, (la + LADO - 1) / LADO), dim3(LADO, LADO)>>>(
      c_d, a_d, b_d, la, ca, cb);

  cudaMemcpy(c, c_d, sizeof(int) * la * cb, cudaMemcpyDeviceToHost);
  sequencial(r, a, b, la, ca, cb);
  puts(memcmp(c, r, sizeof(int) * la * cb) == 0 ? "Resultado correto" : "Resultado errado");

  cudaFree(a_d); cudaFree(b_d); cudaFree(c_d);
  free(a); free(b); free(c); free(r);
  return 0;
}
