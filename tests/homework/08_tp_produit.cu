/* TP3 : produit de matrices sur GPU
 * C (lignes x colonnes) = A (lignes x interne) * B (interne x colonnes)
 */
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define TAILLE_BLOC 16

__global__ void produitMatrices(const float *A, const float *B, float *C,
                                int lignes, int interne, int colonnes)
{
    int lig = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    float somme = 0.0f;

    if (lig >= lignes || col >= colonnes)
        return;

    for (int k = 0; k < interne; k++)
        somme += A[lig * interne + k] * B[k * colonnes + col];

    C[lig * colonnes + col] = somme;
}

void remplir(float *M, int taille)
{
    for (int i = 0; i < taille; i++)
        M[i] = (float)(rand() % 10);
}

int main(int argc, char **argv)
{
    int lignes = 640, interne = 100, colonnes = 160;
    if (argc == 4) {
        lignes   = atoi(argv[1]);
        interne  = atoi(argv[2]);
        colonnes = atoi(argv[3]);
    }

    float *hA = (float*) malloc(sizeof(float) * lignes * interne);
    float *hB = (float*) malloc(sizeof(float) * interne * colonnes);
    float *hC = (float*) malloc(sizeof(float) * lignes * colonnes);
    remplir(hA, lignes * interne);
    remplir(hB, interne * colonnes);

    /* Allocation et copie vers le GPU */
    float *dA, *dB, *dC;
    cudaMalloc((void**) &dA, sizeof(float) * lignes * interne);
    cudaMalloc((void**) &dB, sizeof(float) * interne * colonnes);
    cudaMalloc((void**) &dC, sizeof(float) * lignes * colonnes);
    cudaMemcpy(dA, hA, sizeof(float) * lignes * interne, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB, sizeof(float) * interne * colonnes, cudaMemcpyHostToDevice);

    /* Lancement du noyau */
    dim3 bloc(TAILLE_BLOC, TAILLE_BLOC);
    dim3 grille((lignes + TAILLE_BLOC - 1) / TAILLE_BLOC,
                (colonnes + TAILLE_BLOC - 1) / TAILLE_BLOC);
    produitMatrices<<<grille, bloc>>>(dA, dB, dC, lignes, interne, colonnes);
    cudaDeviceSynchronize();

    cudaMemcpy(hC, dC, sizeof(float) * lignes * colonnes, cudaMemcpyDeviceToHost);

    /* Verification sur CPU */
    int erreurs = 0;
    for (int i = 0; i < lignes; i++)
        for (int j = 0; j < colonnes; j++) {
            float s = 0;
            for (int k = 0; k < interne; k++)
                s += hA[i * interne + k] * hB[k * colonnes + j];
            if (fabsf(s - hC[i * colonnes + j]) > 0.5f) erreurs++;
        }
    printf("%d erreur(s)\n", erreurs);

    cudaFree(dA); cudaFree(dB); cudaFree(dC);
    free(hA); free(hB); free(hC);
    return EXIT_SUCCESS;
}
