/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* Looks without the lock at memory that its holder replaces and gives back: src/base/visits.{h,c},
 * and what src/queue/view.{h,c} makes of it: a pointer to a block, with a size that goes with it.
 * Each access to what threads share is a step, and each thread has a buffer for its stores.
 *
 * The holder grows the block, which must be possible at once, or trims it, which may wait; the
 * lookers come again and again. A look that got through the door reads a block that is there, and
 * not beyond its end.
 *
 * Memory. All stores here are releases, which reach memory in their order, at any time later; loads
 * are acquires, done in their order, also before earlier stores of their thread are visible. A
 * fence empties the buffer, and so does the exchange that marks a stripe, on x86 by itself,
 * elsewhere with the fence behind it.
 *
 * Narrower than the code: a few changes of the block, so that the door's number need not come
 * round.
 *
 * check two-lookers CHANGES=2
 * check of-one-stripe STRIPES=1
 * check many-changes LOOKERS=1 CHANGES=5
 * ends few-looks LOOKERS=1 LOOKS=2
 * fails marks-without-fence NO_MARK_FENCE LOOKERS=1 => gone
 * fails closes-without-fence NO_DOOR_FENCE => gone
 * fails door-is-not-asked NO_DOOR_LOOK => gone
 * fails door-is-asked-once ONE_DOOR_LOOK => size_of
 * fails nobody-is-asked ALWAYS_ALONE => gone
 * fails retired-goes-first RETIRED_GOES => gone
 * fails opened-before-shown OPENS_FIRST => gone
 * fails leaves-first LEAVES_FIRST => gone
 * unreached Memory -end-: it does not end
 * unreached Looker -end-: in the checks it comes again for ever
 */

#ifndef LOOKERS
#define LOOKERS 2
#endif
#ifndef STRIPES
#define STRIPES LOOKERS
#endif
#ifndef LOOKS
#define LOOKS MANY /* of each looker */
#endif
#define MANY 255 /* any number */
#ifndef CHANGES
#define CHANGES 3 /* of the block */
#endif

/* The words that threads share. */
#define DOOR 0
#define POINTER 1
#define SIZE 2
#define INSIDE(stripe) (3 + (stripe))
#define WORDS (3 + STRIPES)

#define THREADS (LOOKERS + 1)
#define HOLDER LOOKERS
#define SLOTS 5 /* of a store buffer: all stores between two fences have room */
#define BLOCKS 4

byte memory[WORDS];
byte stored[THREADS]; /* in the buffers */
byte stored_word[THREADS * SLOTS];
byte stored_value[THREADS * SLOTS];

/* The books of the allocator. */
bool gone[BLOCKS];
byte size_of[BLOCKS];

#define STORE(word, value)                                                                         \
    stored_word[self * SLOTS + stored[self]] = word;                                               \
    stored_value[self * SLOTS + stored[self]] = value;                                             \
    stored[self]++

inline reach_memory(thread)
{
    memory[stored_word[(thread) * SLOTS]] = stored_value[(thread) * SLOTS];
    k = 0;
    do
    :: k + 1 < stored[thread] ->
        stored_word[(thread) * SLOTS + k] = stored_word[(thread) * SLOTS + k + 1];
        stored_value[(thread) * SLOTS + k] = stored_value[(thread) * SLOTS + k + 1];
        k++
    :: else -> break
    od;
    stored_word[(thread) * SLOTS + k] = 0;
    stored_value[(thread) * SLOTS + k] = 0;
    stored[thread]--;
    k = 0
}

inline fence()
{
    d_step {
        do
        :: stored[self] > 0 -> reach_memory(self)
        :: else -> break
        od
    }
}

proctype Memory(byte thread)
{
    byte k;
end:
    do
    :: d_step { stored[thread] > 0 -> reach_memory(thread) }
    od
}

proctype Looker(byte self; byte times)
{
    byte k;
    byte door;
    byte pointer;
    byte size;
    byte marked;
end:
    do
    :: times > 0 ->
        times = (times == MANY -> MANY : times - 1);
        /* visits.h: weiri_visits_enter */
#ifdef NO_MARK_FENCE
        d_step { STORE(INSIDE(self % STRIPES), 1) };
        marked = 0;
#else
        d_step {
            do
            :: stored[self] > 0 -> reach_memory(self)
            :: else -> break
            od;
            marked = memory[INSIDE(self % STRIPES)];
            memory[INSIDE(self % STRIPES)] = 1
        };
#endif
        if
        :: marked == 0 ->
#ifdef LEAVES_FIRST
            d_step { STORE(INSIDE(self % STRIPES), 0) };
#endif
            /* view.c: find_place */
            door = memory[DOOR];
            if
#ifdef NO_DOOR_LOOK
            :: true ->
#else
            :: door % 2 == 0 ->
#endif
                pointer = memory[POINTER];
                size = memory[SIZE];
                if
#ifdef ONE_DOOR_LOOK
                :: true ->
#else
                :: memory[DOOR] == door ->
#endif
                    /* look: twice, for it may take its time */
                    assert(!gone[pointer]);
                    assert(size <= size_of[pointer]);
                    assert(!gone[pointer])
                :: else
                fi
            :: else
            fi;
            door = 0;
            pointer = 0;
            size = 0;
#ifndef LEAVES_FIRST
            /* weiri_visits_leave */
            d_step { stored[self] < SLOTS -> STORE(INSIDE(self % STRIPES), 0) }
#endif
        :: else -> marked = 0
        fi
    :: times == 0 -> break
    od
}

/* visits.c: step_door */
inline step_door()
{
    d_step { door++; STORE(DOOR, door) }
}

/* visits.c: weiri_visits_close */
inline close()
{
    step_door();
#ifndef NO_DOOR_FENCE
    fence();
#endif
    i = 0;
    is_alone = true;
    do
    :: i < STRIPES ->
        is_alone = is_alone && memory[INSIDE(i)] == 0;
        i++
    :: else -> break
    od;
    i = 0;
#ifdef ALWAYS_ALONE
    is_alone = true;
#endif
#ifdef RETIRED_GOES
    give_back_retired();
#else
    if
    :: is_alone -> give_back_retired()
    :: else
    fi
#endif
}

inline give_back_retired()
{
    d_step {
        do
        :: i < BLOCKS -> gone[i] = gone[i] || retired[i]; retired[i] = false; i++
        :: else -> break
        od;
        i = 0
    }
}

/* Chooses a block that is nobody's, and its size. */
inline allocate()
{
    atomic {
        if
        :: gone[0] -> new = 0
        :: gone[1] -> new = 1
        :: gone[2] -> new = 2
        :: gone[3] -> new = 3
        fi;
        gone[new] = false;
        if
        :: size_of[new] = 1
        :: size_of[new] = 2
        fi
    }
}

/* view.c: weiri_view_show_slots */
inline show_block()
{
    d_step { STORE(POINTER, new) };
    d_step { STORE(SIZE, size_of[new]) }
}

proctype Holder(byte self)
{
    byte k;
    byte i;
    byte door;
    byte current;
    byte new;
    byte changes;
    bool is_alone;
    bool retired[BLOCKS];
    do
    :: changes < CHANGES ->
        changes++;
        if
        :: /* table.c: reserve_slots */
            allocate();
            close();
#ifdef OPENS_FIRST
            step_door();
            show_block();
#else
            show_block();
            step_door();
#endif
            if
            :: is_alone -> gone[current] = true
            :: else -> retired[current] = true
            fi;
            current = new
        :: /* table.c: trim_slots */
            close();
            if
            :: is_alone ->
                allocate();
                gone[current] = true;
                show_block();
                current = new
            :: else
            fi;
            step_door()
        fi;
        new = 0;
        fence() /* the lock's unlock, which is what the next change is behind */
    :: else -> break
    od
}

init
{
    byte i;
    atomic {
        size_of[0] = 1;
        memory[SIZE] = 1;
        i = 1;
        do
        :: i < BLOCKS -> gone[i] = true; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < THREADS -> run Memory(i); i++ /* first: a process ends after those started later */
        :: else -> break
        od;
        i = 0;
        do
        :: i < LOOKERS -> run Looker(i, LOOKS); i++
        :: else -> break
        od;
        run Holder(HOLDER);
        i = 0
    }
}
