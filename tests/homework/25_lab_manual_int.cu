/*
 * HIGH PERFORMANCE COMPUTING LABORATORY
 * Experiment No. 5
 * Aim: To write a CUDA program for Matrix Multiplication.
 */
#include<stdio.h>
#include<stdlib.h>
#include<cuda.h>

#define row1 4 /* Number of rows of first matrix */
#define col1 3 /* Number of columns of first matrix */
#define row2 3 /* Number of rows of second matrix */
#define col2 5 /* Number of columns of second matrix */

__global__ void matproduct(int *l,int *m, int *n)
{
    int x=blockIdx.x;
    int y=blockIdx.y;
    int k;

    n[col2*y+x]=0;
    for(k=0;k<col1;k++)
    {
        n[col2*y+x]=n[col2*y+x]+l[col1*y+k]*m[col2*k+x];
    }
}

int main()
{
    int a[row1][col1];
    int b[row2][col2];
    int c[row1][col2];
    int *d,*e,*f;
    int i,j;

    printf("\n First matrix of size %d*%d\n",row1,col1);
    for(i=0;i<row1;i++)
    {
        for(j=0;j<col1;j++)
        {
            a[i][j]=i+2*j;
            printf("%d\t",a[i][j]);
        }
        printf("\n");
    }
    printf("\n Second matrix of size %d*%d\n",row2,col2);
    for(i=0;i<row2;i++)
    {
        for(j=0;j<col2;j++)
        {
            b[i][j]=3*i-j;
            printf("%d\t",b[i][j]);
        }
        printf("\n");
    }

    cudaMalloc((void **)&d,row1*col1*sizeof(int));
    cudaMalloc((void **)&e,row2*col2*sizeof(int));
    cudaMalloc((void **)&f,row1*col2*sizeof(int));

    cudaMemcpy(d,a,row1*col1*sizeof(int),cudaMemcpyHostToDevice);
    cudaMemcpy(e,b,row2*col2*sizeof(int),cudaMemcpyHostToDevice);

    dim3 grid(col2,row1);
    /* Here we are defining two dimensional Grid(collection of blocks) structure.
       Syntax is dim3 grid(no. of columns,no. of rows) */

    matproduct<<<grid,1>>>(d,e,f);

    cudaMemcpy(c,f,row1*col2*sizeof(int),cudaMemcpyDeviceToHost);

    printf("\nProduct of two matrices:\n ");
    for(i=0;i<row1;i++)
    {
        for(j=0;j<col2;j++)
        {
            printf("%d\t",c[i][j]);
        }
        printf("\n");
    }

    cudaFree(d);
    cudaFree(e);
    cudaFree(f);

    return 0;
}
