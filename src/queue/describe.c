/* Copyright (c) 2026 the weir authors
 * SPDX-License-Identifier: MIT */
/* What a core knows, for consumers, snapshots and metrics: nothing here changes it. */

#include <weir/snapshot.h>

#include "base/time.h"
#include "queue/core.h"

struct weir_item *weiri_core_find(const struct weiri_core *core, struct weir_key key)
{
    if (key.size == WEIR_KEY_ITEM) {
        return (struct weir_item *)(uintptr_t)key.data;
    }
    uint32_t number = weiri_table_find(&core->table, key, weiri_table_hash(&core->table, key));
    return number == 0
               ? NULL
               : &((struct weiri_keyed_item *)weiri_table_record(&core->table, number))->item;
}

void weiri_core_fill_work(const struct weir_item *item, struct weir_work *ret_work)
{
    ret_work->ticket = item->weir_position;
    ret_work->weir_record = item->weir_record;
    ret_work->priority = item->weir_priority;
    if (item->weir_record != 0) {
        ret_work->key =
            weiri_record_key(&WEIRI_CONTAINER(item, struct weiri_keyed_item, item)->record);
        ret_work->item = NULL;
    } else {
        ret_work->item = (struct weir_item *)(uintptr_t)item;
        ret_work->key = weir_key_item(ret_work->item);
    }
}

struct weir_item *weiri_core_find_work(const struct weiri_core *core, const struct weir_work *work)
{
    struct weir_item *item = work->item;
    if (item == NULL) {
        struct weiri_keyed_item *keyed = weiri_table_check(&core->table, work->weir_record);
        if (keyed == NULL) {
            return NULL;
        }
        item = &keyed->item;
    }
    bool is_processing = weiri_core_holds(core, item) && weiri_item_is_processing(item);
    return is_processing && item->weir_position == work->ticket ? item : NULL;
}

void weiri_core_describe(const struct weiri_core *core, const struct weir_item *item,
                         int64_t now_ns, struct weir_snapshot_item *ret_item)
{
    struct weir_work work;
    weiri_core_fill_work(item, &work);
    bool is_processing = weiri_item_is_processing(item);
    enum weir_place place = weiri_item_place(item);
    bool is_pending = place == WEIR_PLACE_QUEUED || place == WEIR_PLACE_DIRTY;
    *ret_item = (struct weir_snapshot_item){
        .key = work.key,
        .item = work.item,
        .due_ns = item->weir_wait == 0 ? -1 : weiri_heap_entry(&core->waiting, item)->time_ns,
        .queued_ns =
            core->times_items && is_pending ? weiri_time_since(item->weir_queued_ns, now_ns) : -1,
        .running_ns = core->times_items && is_processing
                          ? weiri_time_since(item->weir_running_ns, now_ns)
                          : -1,
        .ticket = is_processing ? work.ticket : 0,
        .place = place,
    };
}

void weiri_core_sample(const struct weiri_core *core, int64_t now_ns,
                       struct weiri_queue_sample *ret_sample)
{
    const struct weir_item *oldest = core->first_processing;
    *ret_sample = *core->meter;
    ret_sample->depth = core->queued + core->dirty;
    ret_sample->unfinished_ns = (weiri_wide)core->processing * (uint64_t)now_ns - core->started_ns;
    ret_sample->longest_ns = oldest == NULL ? 0 : weiri_time_since(oldest->weir_running_ns, now_ns);
}
