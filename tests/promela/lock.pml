/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* The lock of src/base/lock.{h,c}, step by step: bias, revocation, bias again, sleep, becoming
 * plain. Each access to what threads share is a step, named after its place in the code; each
 * thread has a buffer for its stores. Left out is passed_over: a hint to those who do not sleep.
 *
 * Memory. A store goes into its thread's buffer, where only that thread sees it, and reaches memory
 * at any time later: a relaxed one or one to plain data may pass earlier ones to other words, a
 * release store passes nothing. So a thread's loads are done before its earlier stores are visible
 * (as on x86), and its stores are reordered (as elsewhere). An operation that reads and writes,
 * a store that is sequentially consistent, a fence and the kernel's futex calls empty the buffer
 * first; the decrement of waiters, which is relaxed, does not. membarrier() empties the buffers of
 * its caller, then of the other threads, one after the other in any order, and of its caller again.
 * Loads are not reordered with one another.
 *
 * Wider than the code in one respect: a thread that has the lock twice in a row may be given the
 * bias, or not, which is every threshold that there could be. Narrower: one try for word before a
 * sleep, none for inside. What the lock guards stands for all that it guards, its own plain
 * members included.
 *
 * NO_FENCE_OF_OTHERS is no fault: a thread that comes to sleep while another one makes the lock
 * plain need not fence, for that one tries for word after its own fence, and wakes it.
 *
 * LOOKS: what is guarded is an item's place, queued to begin with. One holder takes the item, and
 * reads, with the lock given back, what was said. One thread says something and then looks at the
 * place without the lock, where weiri_lock_may_look() lets it: if it finds the item queued, whoever
 * takes it must read what was said.
 *
 * check two-threads SPURIOUS=1 BIASES=4
 * check three-threads THREADS=3 SLOTS=2 ENTRIES_SEEN=2
 * check others-without-fence NO_FENCE_OF_OTHERS THREADS=3 SLOTS=2 ENTRIES_SEEN=2
 * check without-membarrier ONLY_PLAIN THREADS=3 SPURIOUS=1
 * ends few-entries ENTRIES=3
 * fails one-inside-for-all-biases ONE_INSIDE => holders==0
 * fails waking-before-turn WAKING_FIRST => invalid end state
 * fails revoked-without-fence NO_REVOKE_FENCE => seen==entries
 * fails sleeps-without-fence NO_PLAIN_FENCE => invalid end state
 * fails plain-unlock-without-fence NO_UNLOCK_FENCE => invalid end state
 * fails unlock-is-relaxed RELAXED_UNLOCK => seen==entries
 * fails revoker-is-not-told NO_TELL_REVOKER => invalid end state
 * check look LOOKS BIASES=2
 * check look-without-membarrier LOOKS ONLY_PLAIN
 * check look-of-three LOOKS THREADS=3 SLOTS=2 BIASES=2 ENTRIES=1 LAST_ENTRIES=2
 * fails looks-without-fence LOOKS NO_LOOK_FENCE => has_missed
 * fails looks-beside-unlock-without-fence LOOKS NO_UNLOCK_FENCE ONLY_PLAIN ENTRIES=1 => has_missed
 * fails looks-at-any-lock LOOKS LOOKS_ALWAYS => has_missed
 * fails looks-while-revoked-without-fence LOOKS NO_REVOKE_FENCE => assertion
 * fails opens-before-revoking LOOKS OPENS_FIRST THREADS=3 SLOTS=2 BIASES=2 ENTRIES=1 LAST_ENTRIES=3 => has_missed
 * unreached Memory -end-: it does not end
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef ENTRIES
#define ENTRIES MANY /* of each thread */
#endif
#ifndef LAST_ENTRIES
#define LAST_ENTRIES ENTRIES /* of the last one */
#endif
#define MANY 255 /* any number */
#ifndef ENTRIES_SEEN
#define ENTRIES_SEEN 4 /* a holder that misses what fewer holders before it did is found */
#endif
#ifndef BIASES
#define BIASES 3 /* lock.h: WEIRI_LOCK_BIASES */
#endif
#ifndef SLOTS
#define SLOTS 3 /* of a store buffer */
#endif
#ifndef SPURIOUS
#define SPURIOUS 0 /* sleeps that end for no reason */
#endif

/* The words that are ever stored to by what does not empty the buffer. */
#define BIAS 0
#define WORD 1
#define DATA 2 /* what the lock guards */
#ifdef ONE_INSIDE /* for all biases */
#define INSIDE(number) 3
#else
#define INSIDE(number) (3 + (number))
#endif
#ifdef LOOKS
#define PLACE DATA           /* item.h: weir_place; 0: queued, 1: processing */
#define OPEN (3 + BIASES)
#define SAID (4 + BIASES)    /* what a caller does before it looks */
#define WORDS (5 + BIASES)
#define IS_OPEN_STORE(word) ((word) == OPEN)
#else
#define WORDS (3 + BIASES)
#define IS_OPEN_STORE(word) false
#endif
#define TURN WORDS /* for futex calls */
#define NOWHERE 255

/* lock.h: enum weiri_lock_plain */
#define FENCELESS 0
#define COUNTING 1
#define FENCING 2
#define PLAIN 3

#define NAME(thread) ((thread) + 1)
#ifdef RELAXED_UNLOCK
#define IS_RELEASE(word, value) false
#else
#define IS_RELEASE(word, value)                                                                    \
    ((word) == WORD || ((word) >= INSIDE(0) && (value) == 0) || IS_OPEN_STORE(word))
#endif

byte memory[WORDS];
byte stored[THREADS]; /* in the buffers */
byte stored_word[THREADS * SLOTS];
byte stored_value[THREADS * SLOTS];

/* lock.h: struct weiri_lock, the rest */
byte waiters;
byte watching; /* threads that have loaded turn, and will compare it */
byte turned;   /* those of them since whose load turn has been counted; it never comes round */
byte waking;
byte plain;
byte entered_by;
byte biases;
byte last;

byte asleep_on[THREADS] = NOWHERE; /* in the kernel */
byte spurious = SPURIOUS;

/* The books. */
byte holders;
byte entries;
#ifdef LOOKS
bool has_said;
bool has_joined; /* found the item queued, without the lock */
bool has_taken;
bool has_missed; /* what was said */
#endif

/* Takes a store out of a buffer: it has reached memory. */
inline reach_memory(thread, slot)
{
    d_step {
        memory[stored_word[(thread) * SLOTS + slot]] = stored_value[(thread) * SLOTS + slot];
        k = slot;
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
}

/* Empties a buffer. */
inline fence(thread)
{
    d_step {
        k = 0;
        do
        :: k < stored[thread] ->
            memory[stored_word[(thread) * SLOTS + k]] = stored_value[(thread) * SLOTS + k];
            stored_word[(thread) * SLOTS + k] = 0;
            stored_value[(thread) * SLOTS + k] = 0;
            k++
        :: else -> break
        od;
        stored[thread] = 0;
        k = 0
    }
}

#define HAS_ROOM (stored[self] < SLOTS)
inline store(word, value)
{
    stored_word[self * SLOTS + stored[self]] = word;
    stored_value[self * SLOTS + stored[self]] = value;
    stored[self]++
}

inline load(word, ret)
{
    d_step {
        ret = memory[word];
        k = 0;
        do
        :: k < stored[self] ->
            ret = (stored_word[self * SLOTS + k] == word -> stored_value[self * SLOTS + k] : ret);
            k++
        :: else -> break
        od;
        k = 0
    }
}

#define STORED(slot) stored_word[thread * SLOTS + slot]
proctype Memory(byte thread)
{
    byte k;
end:
    do
    :: atomic { stored[thread] > 0 -> reach_memory(thread, 0) }
#if SLOTS > 1
    :: atomic {
        stored[thread] > 1 && STORED(1) != STORED(0) &&
        !IS_RELEASE(STORED(1), stored_value[thread * SLOTS + 1]) ->
        reach_memory(thread, 1)
       }
#endif
#if SLOTS > 2
    :: atomic {
        stored[thread] > 2 && STORED(2) != STORED(0) && STORED(2) != STORED(1) &&
        !IS_RELEASE(STORED(2), stored_value[thread * SLOTS + 2]) ->
        reach_memory(thread, 2)
       }
#endif
    od
}

/* base/futex.c. The kernel fences before it compares, and before it looks for sleepers. */
inline futex_wait(word, value, expected)
{
    fence(self);
    asleep_on[self] = ((value) == (expected) -> (word) : NOWHERE)
}

#define CAN_GO_ON (asleep_on[self] == NOWHERE || spurious > 0)
inline wake_up()
{
    spurious = spurious - (asleep_on[self] != NOWHERE);
    asleep_on[self] = NOWHERE
}

inline futex_wake(word)
{
    fence(self);
    if
    :: asleep_on[0] == word -> asleep_on[0] = NOWHERE
    :: asleep_on[1] == word -> asleep_on[1] = NOWHERE
#if THREADS > 2
    :: asleep_on[2] == word -> asleep_on[2] = NOWHERE
#endif
    :: else
    fi
}

inline stop_watching()
{
    watching = watching & ~(1 << self);
    turned = turned & ~(1 << self)
}

/* Who has got in. */
inline enter(by)
{
    entered_by = by;
    assert(holders == 0); /* one at a time */
    holders++
}

/* The steps: what a thread does next. */
mtype = {
    lock_look,     /* weiri_lock_own_bias: loads bias */
    lock_enter,    /* stores inside */
    lock_check,    /* loads bias once more */
    lock_revoked,  /* weiri_lock_back_out: stores inside */
    lock_tell,     /* wakes the revoker */
    try_load,      /* try_word: loads word */
    try_exchange,  /* exchanges word */
    sleep_count,   /* sleep_for_word: counts itself in waiters */
    plain_begin,   /* make_plain: compares and exchanges plain */
    plain_count,   /* counts the waiter that does not exist */
    plain_mark,    /* stores plain */
    plain_fence,   /* fences all threads */
    plain_end,     /* stores plain */
    only_fence,    /* the fence of a thread that did not begin it */
    sleep_turn,    /* sleep_for_word: loads turn */
    sleep_waking,  /* stores waking */
    sleep_try,     /* exchanges word */
    sleep_wait,    /* futex */
    sleep_leave,   /* takes itself out of waiters */
    slow_bias,     /* weiri_lock_lock_slow: loads bias */
    revoke_store,  /* revoke: stores bias */
    revoke_fence,  /* fences all threads */
    revoke_look,   /* loads inside */
    revoke_wait,   /* futex */
    open_look,     /* open_to_looks: loads open and plain */
    open_store,    /* stores open */
    slow_streak,   /* count_streak: may store bias */
    work,          /* with the lock held */
    unlock_store,  /* weiri_lock_leave: stores inside; weiri_lock_unlock: word */
    unlock_bias,   /* loads bias */
    unlock_tell,   /* weiri_lock_wake_revoker */
    unlock_look,   /* loads waiters */
    wake_plain,    /* weiri_lock_wake_waiter: fences, loads plain */
    wake_look,     /* loads waiters */
    wake_waking,   /* exchanges waking */
    wake_turn,     /* counts turn */
    wake_wake,     /* futex */
    read_said,     /* whoever has taken the item reads what was said */
    may_open,      /* weiri_lock_may_look: loads open */
    may_fence,     /* fences */
    may_bias,      /* loads bias */
    look_place,    /* weiri_queue_joins: loads the item's place */
    finished
};

#ifdef LOOKS
#define UNLOCKED (takes -> read_said : lock_look)
#else
#define UNLOCKED lock_look
#endif
#if !defined(LOOKS) || defined(OPENS_FIRST)
#define REVOKED slow_streak
#else
#define REVOKED open_look
#endif
#ifdef OPENS_FIRST
#define TAKEN open_look
#define AFTER_OPEN slow_bias
#else
#define TAKEN slow_bias
#define AFTER_OPEN slow_streak
#endif

#define ALL_THREADS ((1 << THREADS) - 1)

/* base/futex.c: weiri_fence_all_threads. The kernel fences the caller, then each of the others, in
 * any order, and then the caller again. */
#define FENCED(thread) (fenced & (1 << (thread)))
#define FENCE_OTHER(step, thread)                                                                  \
    :: atomic { pc == step && FENCED(self) != 0 && FENCED(thread) == 0 ->                          \
        fence(thread);                                                                             \
        fenced = fenced | (1 << (thread))                                                          \
       }
#if THREADS > 2
#define FENCE_OTHERS(step) FENCE_OTHER(step, 0) FENCE_OTHER(step, 1) FENCE_OTHER(step, 2)
#else
#define FENCE_OTHERS(step) FENCE_OTHER(step, 0) FENCE_OTHER(step, 1)
#endif
#define FENCE_ALL(step, next)                                                                      \
    :: atomic { pc == step && fenced == 0 -> fence(self); fenced = 1 << self }                     \
    FENCE_OTHERS(step)                                                                             \
    :: atomic { pc == step && fenced == ALL_THREADS -> fence(self); fenced = 0; pc = next }

proctype Thread(byte self; byte times)
{
    mtype pc = lock_look;
    byte bias;   /* as it was loaded */
    byte number; /* of that bias */
    byte seen;   /* another word, as it was loaded */
    byte fenced; /* by this thread's call that fences all */
    byte k;
#ifdef LOOKS
    bool takes; /* the item */
#endif
    do
#ifdef LOOKS
    /* produce.c: a caller of weir_queue_add. It looks once; no: it comes to the lock like others */
    :: atomic { pc == lock_look && !has_said && HAS_ROOM ->
        has_said = true;
        store(SAID, 1);
        pc = may_open
       }
    /* lock.h: weiri_lock_may_look */
    :: atomic { pc == may_open -> load(OPEN, seen); pc = (seen != 0 -> may_fence : may_bias); seen = 0 }
    :: atomic { pc == may_fence ->
#ifndef NO_LOOK_FENCE
        fence(self);
#endif
        pc = look_place
       }
    :: atomic { pc == may_bias ->
        load(BIAS, seen);
#ifdef LOOKS_ALWAYS
        pc = look_place;
#else
        pc = (seen / BIASES == NAME(self) -> look_place : lock_look);
#endif
        seen = 0
       }
    /* item.h: weiri_item_joins */
    :: atomic { pc == look_place ->
        load(PLACE, seen);
        has_joined = (seen == 0);
        assert(!(has_joined && has_missed));
        seen = 0;
        pc = lock_look
       }
#endif

    /* lock.h: weiri_lock_lock, weiri_lock_own_bias, weiri_lock_enter_by */
    :: atomic { pc == lock_look && times > 0 ->
        times = times - (times != MANY);
        load(BIAS, bias);
        number = bias % BIASES;
        pc = (bias / BIASES == NAME(self) -> lock_enter : try_load)
       }
    :: atomic { pc == lock_enter && HAS_ROOM -> store(INSIDE(number), 1); pc = lock_check }
    :: atomic { pc == lock_check ->
        load(BIAS, seen);
        if
        :: seen == bias -> enter(number + 1); pc = work
        :: else -> pc = lock_revoked
        fi;
        seen = 0;
        bias = 0
       }

    /* lock.c: weiri_lock_back_out */
    :: atomic { pc == lock_revoked && HAS_ROOM -> store(INSIDE(number), 0); pc = lock_tell }
    :: atomic { pc == lock_tell -> futex_wake(INSIDE(number)); number = 0; pc = try_load }

    /* lock.c: try_word */
    :: atomic { pc == try_load ->
        bias = 0;
        number = 0;
        load(WORD, seen);
        pc = (seen == 0 -> try_exchange : sleep_count);
        seen = 0
       }
    :: atomic { pc == try_exchange ->
        fence(self);
        pc = (memory[WORD] == 0 -> TAKEN : sleep_count);
        memory[WORD] = 1
       }

    /* lock.c: sleep_for_word */
    :: atomic { pc == sleep_count -> fence(self); waiters++; pc = plain_begin }

    /* lock.c: make_plain */
    :: atomic { pc == plain_begin ->
        fence(self);
        if
        :: plain == FENCELESS -> plain = COUNTING; pc = plain_count
#if THREADS > 2 /* two threads: the other one has the word, and does not come here before it leaves */
        :: plain == COUNTING || plain == FENCING -> pc = only_fence
#endif
        :: plain == PLAIN -> pc = sleep_turn
        fi
       }
    :: atomic { pc == plain_count -> fence(self); waiters++; pc = plain_mark }
    :: atomic { pc == plain_mark -> fence(self); plain = FENCING; pc = plain_fence }
#ifdef NO_PLAIN_FENCE
    :: atomic { pc == plain_fence -> fence(self); pc = plain_end }
#else
    FENCE_ALL(plain_fence, plain_end)
#endif
    :: atomic { pc == plain_end -> fence(self); plain = PLAIN; pc = sleep_turn }
#if THREADS > 2
#ifdef NO_FENCE_OF_OTHERS
    :: atomic { pc == only_fence -> fence(self); pc = sleep_turn }
#else
    FENCE_ALL(only_fence, sleep_turn)
#endif
#endif

    /* lock.c: sleep_for_word, its loop */
    :: atomic { pc == sleep_turn && CAN_GO_ON ->
        wake_up();
#ifdef WAKING_FIRST
        fence(self);
        waking = 0;
#else
        watching = watching | (1 << self);
#endif
        pc = sleep_waking
       }
    :: atomic { pc == sleep_waking ->
#ifdef WAKING_FIRST
        watching = watching | (1 << self);
#else
        fence(self);
        waking = 0;
#endif
        pc = sleep_try
       }
    :: atomic { pc == sleep_try ->
        fence(self);
        if
        :: memory[WORD] == 0 -> memory[WORD] = 1; stop_watching(); pc = sleep_leave
        :: else -> pc = sleep_wait
        fi
       }
    :: atomic { pc == sleep_wait ->
        futex_wait(TURN, turned & (1 << self), 0);
        stop_watching();
        pc = sleep_turn
       }
    :: atomic { pc == sleep_leave -> waiters--; pc = TAKEN }

    /* lock.c: weiri_lock_lock_slow, revoke */
    :: atomic { pc == slow_bias ->
        load(BIAS, bias);
        number = bias % BIASES;
        pc = (bias != 0 -> revoke_store : REVOKED);
        bias = 0
       }
    :: atomic { pc == revoke_store && HAS_ROOM -> store(BIAS, 0); pc = revoke_fence }
#ifdef NO_REVOKE_FENCE
    :: atomic { pc == revoke_fence -> fence(self); pc = revoke_look }
#else
    FENCE_ALL(revoke_fence, revoke_look)
#endif
    :: atomic { pc == revoke_look && CAN_GO_ON ->
        wake_up();
        load(INSIDE(number), seen);
        pc = (seen != 0 -> revoke_wait : REVOKED);
        seen = 0
       }
    :: atomic { pc == revoke_wait ->
        futex_wait(INSIDE(number), memory[INSIDE(number)], 1);
        pc = revoke_look
       }

#ifdef LOOKS
    /* lock.c: open_to_looks */
    :: atomic { pc == open_look ->
        load(OPEN, seen);
        pc = (seen == 0 && plain == PLAIN -> open_store : AFTER_OPEN);
        seen = 0
       }
    :: atomic { pc == open_store && HAS_ROOM -> store(OPEN, 1); pc = AFTER_OPEN }
#endif

    /* lock.c: count_streak */
    :: atomic { pc == slow_streak && HAS_ROOM ->
        number = 0;
        enter(0);
        if
        :: last == NAME(self) && biases < BIASES && plain == FENCELESS ->
            store(BIAS, NAME(self) * BIASES + biases);
            biases++
        :: true -> last = NAME(self)
        fi;
        pc = work
       }

    /* The caller's work: it finds what the last holder left. */
#ifdef LOOKS
    :: atomic { pc == work && HAS_ROOM ->
        load(PLACE, seen);
        assert(seen == has_taken);
        if
        :: seen == 0 -> store(PLACE, 1); has_taken = true; takes = true
        :: true
        fi;
        seen = 0;
        pc = unlock_store
       }
    :: atomic { pc == read_said ->
        takes = false;
        load(SAID, seen);
        has_missed = (seen == 0);
        assert(!(has_joined && has_missed));
        seen = 0;
        pc = lock_look
       }
#else
    :: atomic { pc == work && HAS_ROOM ->
        load(DATA, seen);
        assert(seen == entries); /* what the last holder did is visible */
        entries = (entries + 1) % ENTRIES_SEEN;
        store(DATA, entries);
        seen = 0;
        pc = unlock_store
       }
#endif

    /* lock.h: weiri_lock_unlock, weiri_lock_leave */
    :: atomic { pc == unlock_store && HAS_ROOM ->
        holders--;
        if
        :: entered_by != 0 ->
            number = entered_by - 1;
            store(INSIDE(number), 0);
            pc = unlock_bias
        :: else -> store(WORD, 0); pc = unlock_look
        fi
       }
    :: atomic { pc == unlock_bias ->
        load(BIAS, seen);
#ifdef NO_TELL_REVOKER
        seen = 1;
#endif
        pc = (seen == 0 -> unlock_tell : UNLOCKED);
        number = (seen == 0 -> number : 0);
        seen = 0
       }
    :: atomic { pc == unlock_tell -> futex_wake(INSIDE(number)); number = 0; pc = UNLOCKED }
    :: atomic { pc == unlock_look -> pc = (waiters != 0 -> wake_plain : UNLOCKED) }

    /* lock.c: weiri_lock_wake_waiter */
    :: atomic { pc == wake_plain ->
#ifndef NO_UNLOCK_FENCE
        fence(self);
#endif
        seen = (plain >= FENCING -> 1 : 0);
        pc = wake_look
       }
    :: atomic { pc == wake_look -> pc = (waiters == seen -> UNLOCKED : wake_waking); seen = 0 }
    :: atomic { pc == wake_waking ->
        fence(self);
        pc = (waking == 0 -> wake_turn : UNLOCKED);
        waking = 1
       }
    :: atomic { pc == wake_turn -> fence(self); turned = watching; pc = wake_wake }
    :: atomic { pc == wake_wake -> futex_wake(TURN); pc = UNLOCKED }

    :: pc == lock_look && (times == 0 || times == MANY) -> break
    od
}

init
{
    byte i;
    atomic {
        /* lock.c: weiri_lock_init */
#ifdef ONLY_PLAIN /* there is no membarrier() */
        waiters = 1;
        plain = PLAIN;
        biases = BIASES;
#ifdef LOOKS
        memory[OPEN] = 1;
#endif
#else
        memory[BIAS] = NAME(0) * BIASES;
        biases = 1;
#endif
        do
        :: i < THREADS -> run Memory(i); i++ /* first: a process ends after those started later */
        :: else -> break
        od;
        i = 0;
        do
        :: i < THREADS - 1 -> run Thread(i, ENTRIES); i++
        :: else -> break
        od;
        run Thread(i, LAST_ENTRIES)
    }
    _nr_pr == THREADS + 1;
    assert(plain == FENCELESS || waiters == 1)
}
