/* SPDX-License-Identifier: MIT */
/*
 * Tensor operations of a warp as PTX has them, for the kernels that use them: asynchronous copies, fragments out of shared
 * memory, products. Half precision comes as bits, two values in a word.
 */
#ifndef CORUN_TENSOR_CUH
#define CORUN_TENSOR_CUH

#define TENSOR_FUNCTION static __device__ __forceinline__

/* The address within shared memory of something that lies there. */
TENSOR_FUNCTION unsigned int shared_address(const void *pointer)
{
    unsigned long long address;
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(address) : "l"(pointer));
    return (unsigned int)address;
}

/* 16 bytes from global to shared memory, `offset` bytes behind an address; the thread does not wait. */
template <int offset> TENSOR_FUNCTION void copy_16_bytes(unsigned int to_shared, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0 + %2], [%1], 16;" ::"r"(to_shared), "l"(from), "n"(offset) : "memory");
}

TENSOR_FUNCTION void commit_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until at most `groups` of the groups that were committed are under way. */
#define WAIT_FOR_COPIES(groups) asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory")

/* Four 8 x 8 matrices; lane i gives the address of row i % 8 of matrix i / 8, less `offset` bytes. */
template <int offset> TENSOR_FUNCTION void load_matrices(unsigned int (&matrices)[4], unsigned int row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4 + %5];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(row), "n"(offset)
                 : "memory");
}

template <int offset> TENSOR_FUNCTION void load_matrices_transposed(unsigned int (&matrices)[4], unsigned int row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4 + %5];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(row), "n"(offset)
                 : "memory");
}

/* sum += a * b: 16 x 16 by rows, 16 x 8 by columns. */
TENSOR_FUNCTION void multiply_add(float (&sum)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* 16 bytes from global memory, and to shared memory. */
TENSOR_FUNCTION void load_piece(unsigned int (&piece)[4], const void *from)
{
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(piece[0]), "=r"(piece[1]), "=r"(piece[2]), "=r"(piece[3])
                 : "l"(from)
                 : "memory");
}

TENSOR_FUNCTION void store_piece(unsigned int to_shared, const unsigned int (&piece)[4])
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to_shared), "r"(piece[0]), "r"(piece[1]), "r"(piece[2]),
                 "r"(piece[3])
                 : "memory");
}

TENSOR_FUNCTION void store_pair(float *to, float first, float second)
{
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second) : "memory");
}

/* Fragments of wmma: 16 x 16 of half precision out of shared memory, `stride` elements from row to row (a), column to column (b). */
#define WMMA_LOAD(name, layout) \
    TENSOR_FUNCTION void wmma_load_##name(unsigned int (&fragment)[8], unsigned int address, int stride) \
    { \
        asm volatile("wmma.load." #name ".sync.aligned." #layout \
                     ".m16n16k16.shared.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;" \
                     : "=r"(fragment[0]), "=r"(fragment[1]), "=r"(fragment[2]), "=r"(fragment[3]), "=r"(fragment[4]), \
                       "=r"(fragment[5]), "=r"(fragment[6]), "=r"(fragment[7]) \
                     : "r"(address), "r"(stride) \
                     : "memory"); \
    }
WMMA_LOAD(a, row)
WMMA_LOAD(b, col)

TENSOR_FUNCTION void wmma_multiply_add(float (&sum)[8], const unsigned int (&a)[8], const unsigned int (&b)[8])
{
    asm volatile("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, "
                 "{%8, %9, %10, %11, %12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23}, "
                 "{%0, %1, %2, %3, %4, %5, %6, %7};"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
                   "+f"(sum[7])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]), "r"(b[0]),
                   "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
}

TENSOR_FUNCTION void wmma_store(float *to, const float (&sum)[8], int stride)
{
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"l"(
                     to),
                 "f"(sum[0]), "f"(sum[1]), "f"(sum[2]), "f"(sum[3]), "f"(sum[4]), "f"(sum[5]), "f"(sum[6]), "f"(sum[7]),
                 "r"(stride)
                 : "memory");
}

#endif
