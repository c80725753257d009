/* SPDX-License-Identifier: MIT */
/*
 * registered [ROUNDS]: memory of the heap that is registered and given back again and again, while other threads write to it: nothing that they have written is lost.
 */
#include "check.h"

#include <atomic>
#include <thread>
#include <vector>

__global__ void add(int *numbers, int count)
{
    int i = threadIdx.x;
    if (i < count)
        numbers[i] += i + 1;
}

static std::atomic<bool> ends(false);
static std::atomic<int> writing(0);

/* Each thread is the only one that writes there. */
static void count_up(volatile unsigned long *place, unsigned long *lost, unsigned long *written)
{
    unsigned long last = 0;
    while (!ends) {
        for (int i = 0; i < 1000; i++) {
            *lost += *place != last;
            *place = ++last;
        }
        writing += last == 1000;
        std::this_thread::yield();
    }
    *written = last;
}

/* On the stack of the thread that asks, beside what the calls below have there. */
static int of_stack(int depth)
{
    int numbers[64], more = depth;
    for (int i = 0; i < 64; i++)
        numbers[i] = depth;
    CHECK(cudaHostRegister(numbers, sizeof numbers, cudaHostRegisterMapped));
    add<<<1, 64>>>(numbers, 64);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaHostUnregister(numbers));
    for (int i = 0; i < 64; i++)
        EXPECT(numbers[i] == depth + i + 1);
    return depth ? more + of_stack(depth - 1) : more;
}

int main(int argc, char **argv)
{
    EXPECT(of_stack(8) == 36);
    std::thread aside([] { EXPECT(of_stack(4) == 10); });
    aside.join();
    if (argc > 1 && !atoi(argv[1]))
        return 0;
    const int pages = 1024, words = 4096 / sizeof(unsigned long), count = 16, rounds = argc > 1 ? atoi(argv[1]) : 20;
    unsigned long *memory = (unsigned long *)malloc(pages * 4096), lost[2] = {0, 0}, written[2] = {0, 0};
    for (int i = 0; i < pages * words; i++)
        memory[i] = 0;
    unsigned long *places[2] = {memory + 1, memory + (pages - 1) * words - 1};
    int *numbers = (int *)(memory + pages / 2 * words);
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; i++)
        threads.emplace_back(count_up, places[i], &lost[i], &written[i]);
    while (writing < 2)
        std::this_thread::yield();
    for (int round = 1; round <= rounds; round++) {
        CHECK(cudaHostRegister(memory, pages * 4096, cudaHostRegisterMapped));
        add<<<1, 32>>>(numbers, count);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaHostUnregister(memory));
        for (int i = 0; i < count; i++)
            EXPECT(numbers[i] == round * (i + 1));
    }
    ends = true;
    for (std::thread &thread : threads)
        thread.join();
    for (int i = 0; i < 2; i++) {
        EXPECT(written[i] > 0 && *places[i] == written[i]);
        EXPECT(lost[i] == 0);
    }
    free(memory);
    return 0;
}
