// TP CUDA nº 4 -- Produit matriciel par tuiles, double précision
// Compilation : nvcc -O2 -arch=sm_70 tp4.cu -o tp4
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <ctime>

using reel = double;

constexpr int DIM_TUILE = 16;

#define VERIF(appel) do { cudaError_t code = (appel); if (code != cudaSuccess) { \
    std::fprintf(stderr, "Erreur CUDA ligne %d : %s\n", __LINE__, cudaGetErrorString(code)); \
    std::exit(EXIT_FAILURE); } } while (false)

/* R = G x D, avec G de taille (nl x np) et D de taille (np x nc) */
__global__ void produit_tuiles(int nl, int np, int nc, const reel *G, const reel *D, reel *R)
{
    __shared__ reel tuileG[DIM_TUILE][DIM_TUILE];
    __shared__ reel tuileD[DIM_TUILE][DIM_TUILE];

    const int c = blockIdx.x * DIM_TUILE + threadIdx.x;
    const int l = blockIdx.y * DIM_TUILE + threadIdx.y;
    const int nb_tuiles = (np + DIM_TUILE - 1) / DIM_TUILE;
    reel s = 0;

    for (int t = 0; t < nb_tuiles; t++) {
        const int debut = t * DIM_TUILE;

        // chargement (zéro en dehors de la matrice)
        if (l < nl && debut + threadIdx.x < np)
            tuileG[threadIdx.y][threadIdx.x] = G[l * np + debut + threadIdx.x];
        else
            tuileG[threadIdx.y][threadIdx.x] = 0;

        if (debut + threadIdx.y < np && c < nc)
            tuileD[threadIdx.y][threadIdx.x] = D[(debut + threadIdx.y) * nc + c];
        else
            tuileD[threadIdx.y][threadIdx.x] = 0;

        __syncthreads();

        // la dernière tuile peut être incomplète
        const int largeur = min(DIM_TUILE, np - debut);
        for (int k = 0; k < largeur; k++)
            s += tuileG[threadIdx.y][k] * tuileD[k][threadIdx.x];

        __syncthreads();
    }

    if (l < nl && c < nc)
        R[l * nc + c] = s;
}

int main(int argc, char *argv[])
{
    const int nl = argc > 1 ? std::atoi(argv[1]) : 350;
    const int np = argc > 2 ? std::atoi(argv[2]) : 410;
    const int nc = argc > 3 ? std::atoi(argv[3]) : 290;

    reel *G, *D, *R;
    VERIF(cudaMallocManaged(&G, sizeof(reel) * nl * np));
    VERIF(cudaMallocManaged(&D, sizeof(reel) * np * nc));
    VERIF(cudaMallocManaged(&R, sizeof(reel) * nl * nc));

    std::srand(static_cast<unsigned>(std::time(nullptr)));
    for (int i = 0; i < nl * np; i++) G[i] = std::rand() / (reel)RAND_MAX;
    for (int i = 0; i < np * nc; i++) D[i] = std::rand() / (reel)RAND_MAX;

    const dim3 bloc(DIM_TUILE, DIM_TUILE);
    const dim3 grille((nc + bloc.x - 1) / bloc.x, (nl + bloc.y - 1) / bloc.y);
    produit_tuiles<<<grille, bloc>>>(nl, np, nc, G, D, R);
    VERIF(cudaGetLastError());
    VERIF(cudaDeviceSynchronize());

    reel ecart = 0;
    for (int i = 0; i < nl; i++)
        for (int j = 0; j < nc; j++) {
            reel s = 0;
            for (int k = 0; k < np; k++) s += G[i * np + k] * D[k * nc + j];
            ecart = std::fmax(ecart, std::fabs(s - R[i * nc + j]));
        }
    std::printf("écart maximal : %g\n", ecart);

    VERIF(cudaFree(G));
    VERIF(cudaFree(D));
    VERIF(cudaFree(R));
    return 0;
}
