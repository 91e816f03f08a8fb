/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Work in many pieces on a crew of four threads: a count, in which each piece writes to a place of
 * its own, and a search, which ends with the first piece that finds something. */

#include <stdio.h>
#include <weir/weir.h>

#define BLOCK 1000 /* numbers of one piece */
#define BLOCKS 100
#define FOUND (WEIR_EUSER + 1)

static size_t primes_in[BLOCKS];

static int count_primes(size_t block, void *arg)
{
    size_t *counts = arg;
    for (size_t n = block * BLOCK; n < (block + 1) * BLOCK; n++) {
        size_t divisor = 2;
        while (divisor * divisor <= n && n % divisor != 0) {
            divisor++;
        }
        counts[block] += n > 1 && divisor * divisor > n;
    }
    return WEIR_OK;
}

/* Only one number of the range is the sum of its divisors, so no other piece writes. */
static int find_perfect(size_t block, void *arg)
{
    for (size_t n = 500 + block * BLOCK; n < 500 + (block + 1) * BLOCK; n++) {
        size_t sum = 1;
        for (size_t divisor = 2; divisor * divisor <= n; divisor++) {
            if (n % divisor == 0) {
                sum += divisor + n / divisor;
            }
        }
        if (sum == n) {
            *(size_t *)arg = n;
            return FOUND; /* ends the run: no further pieces are begun */
        }
    }
    return WEIR_OK;
}

int main(void)
{
    struct weir_crew_options options = {0};
    options.workers = 4; /* this thread and three of the crew's */
    weir_crew *crew;
    if (weir_crew_new(&options, &crew, NULL) != WEIR_OK) {
        return 1;
    }
    size_t sum = 0;
    int status = weir_crew_run(crew, BLOCKS, count_primes, primes_in, NULL);
    for (size_t i = 0; i < BLOCKS; i++) {
        sum += primes_in[i];
    }
    printf("%zu primes below %d\n", sum, BLOCK * BLOCKS);

    size_t perfect = 0;
    int found = weir_crew_run(crew, BLOCKS, find_perfect, &perfect, NULL);
    if (found == FOUND) {
        printf("%zu is perfect\n", perfect);
    }
    weir_crew_free(crew);
    return status != WEIR_OK || found != FOUND;
}
