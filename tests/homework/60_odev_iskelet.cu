/* BLM4522 Ödev 3 - Matris çarpımı iskeleti.
   Sadece bu dosyayı doldurup gönderin; main() ayrı dosyada verilmiştir.
   A: satir x ortak, B: ortak x sutun, C: satir x sutun */

#include <cuda_runtime.h>

#define BLOK 16

/* ---- TODO 1: çekirdek ---- */
__global__ void carp(const float *A, const float *B, float *C, int satir, int sutun, int ortak)
{
   __shared__ float Ap[BLOK][BLOK];
   __shared__ float Bp[BLOK][BLOK];

   int tx = threadIdx.x;
   int ty = threadIdx.y;
   int i  = blockIdx.y * BLOK + ty;
   int j  = blockIdx.x * BLOK + tx;
   int adim, k;
   float toplam = 0.0f;

   for (adim = 0; adim < (ortak - 1) / BLOK + 1; adim++) {
      int p = adim * BLOK;

      /* matrisin dışında kalan yerlere sıfır yaz */
      Ap[ty][tx] = 0.0f;
      if (i < satir && p + tx < ortak)
         Ap[ty][tx] = A[i * ortak + (p + tx)];

      Bp[ty][tx] = 0.0f;
      if (p + ty < ortak && j < sutun)
         Bp[ty][tx] = B[(p + ty) * sutun + j];

      __syncthreads();

      for (k = 0; k < BLOK; k++) {
         toplam = toplam + Ap[ty][k] * Bp[k][tx];
      }

      __syncthreads();
   }

   if (i < satir) {
      if (j < sutun) {
         C[i * sutun + j] = toplam;
      }
   }
}

/* ---- TODO 2: çekirdeği çağıran fonksiyon (işaretçiler GPU belleğindedir) ---- */
void gpuCarp(const float *A, const float *B, float *C, int satir, int sutun, int ortak)
{
   dim3 blok, izgara;

   blok.x = BLOK;
   blok.y = BLOK;
   blok.z = 1;
   izgara.x = (sutun - 1) / BLOK + 1;
   izgara.y = (satir - 1) / BLOK + 1;
   izgara.z = 1;

   carp<<<izgara, blok>>>(A, B, C, satir, sutun, ortak);
   cudaDeviceSynchronize();
}
