/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* No model of weir: what tools/models.py must find fault with, and what it must not.
 *
 * check sound
 * ends sound-too
 * fails wrong WRONG => count!=1
 * fails hangs HANGS => invalid end state
 * refused check wrong-check WRONG => assertion violated (count!=1)
 * refused check hanging-check HANGS => invalid end state
 * refused ends cycle CYCLE => non-progress cycle
 * refused fails nothing-planted NOTHING => the planted fault was not found
 * refused fails found-otherwise WRONG => the planted fault was found, but not as
 * refused fails hangs-instead HANGS => the planted fault was not found
 * refused check too-deep STEPS=2000001 => the search is not complete: it goes deeper
 * refused check too-large STEPS=999990 BYTES=900 => the search is not complete: it takes more
 * refused check not-promela COUNTER=3 => spin:
 * unreached Counter is_odd==1: nothing makes it 1
 */

#ifndef STEPS
#define STEPS 3
#endif
#ifndef BYTES
#define BYTES 1
#endif
#ifndef COUNTER
#define COUNTER count
#endif

int count;
byte room[BYTES];
bool is_odd;

proctype Counter()
{
    room[BYTES - 1] = 1;
    do
    :: count < STEPS ->
        COUNTER = count + 1;
#ifdef WRONG
        assert(count != 1)
#endif
    :: count == STEPS -> assert(room[0] < 2); break
    :: is_odd -> is_odd == 1
#ifdef CYCLE
    :: count == STEPS -> skip
#endif
    od;
#ifdef HANGS
    count == 0
#endif
}

init
{
    run Counter()
}
