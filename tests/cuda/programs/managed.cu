/* SPDX-License-Identifier: MIT */
/* Managed memory: one pointer for both sides. */
#include "check.h"

struct node {
    node *next;
    int value;
};

__global__ void sum(const node *list, int *result)
{
    int total = 0;
    for (; list; list = list->next)
        total += list->value;
    *result = total;
}

__global__ void square(node *list)
{
    for (; list; list = list->next)
        list->value *= list->value;
}

int main()
{
    node *list = 0;
    int *result;
    CHECK(cudaMallocManaged(&result, sizeof *result));
    for (int i = 1; i <= 20; i++) {
        node *one;
        CHECK(cudaMallocManaged(&one, sizeof *one));
        one->next = list;
        one->value = i;
        list = one;
    }
    square<<<1, 1>>>(list);
    sum<<<1, 1>>>(list, result);
    CHECK(cudaDeviceSynchronize());
    EXPECT(*result == 2870 && list->value == 400);
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, list));
    EXPECT(attributes.type == cudaMemoryTypeManaged);
    while (list) {
        node *next = list->next;
        CHECK(cudaFree(list));
        list = next;
    }
    return 0;
}
