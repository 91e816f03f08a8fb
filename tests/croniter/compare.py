#!/usr/bin/python3
# Copyright (c) 2026 the weir authors
# SPDX-License-Identifier: MIT
"""weir's cron against croniter, in every time zone of this system.

Usage: tests/croniter/compare.py LIST [--seed N]

LIST: the program made of list.c. WEIR_TEST_SCALE: how many times as many expressions a zone.

Each zone gets random expressions, asked about around a change of its clocks where it has one. Two things are compared:

 1. All firings within days: the calendar is croniter's, asked without a zone, the offsets are those of Python's zoneinfo, and
    what happens to skipped and repeated times is said in fires() below, in the words of weir/cron.h. None may differ.
 2. Single answers of croniter asked with a zone. It answers by arithmetic on local times, and mends the offset afterwards, which goes
    wrong in ways of its own near changes. Where no change is near, none may differ. Near one, an answer that differs must be one of those
    named in explain(); how many there were of each is printed.
"""
import heapq
import os
import random
import subprocess
import sys
import time
import zoneinfo
from bisect import bisect_right
from collections import Counter
from datetime import datetime, timedelta, timezone

try:
    from croniter import croniter
except ImportError:
    print("compare.py: python3-croniter is not installed: nothing is compared")
    sys.exit(77)

DAY = 86400
EPOCH = datetime(1970, 1, 1)
CASES_PER_ZONE = 2
LABELS_MAX = 400
# The most days of each month.
LONGEST = [0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
WEEKDAYS = (0, 6)
FIELDS = [(0, 59), (0, 23), (1, 31), (1, 12), WEEKDAYS]


def label_of(seconds):
    return EPOCH + timedelta(seconds=seconds)


def seconds_of(label):
    return round((label - EPOCH).total_seconds())


class Zone:
    def __init__(self, name):
        self.name = name
        self.info = zoneinfo.ZoneInfo(name)

    def offset(self, when):
        """What the zone's clock is ahead of UTC at a time."""
        return round(datetime.fromtimestamp(when, self.info).utcoffset().total_seconds())

    def changes(self, start, end, step):
        """(time, offset before, offset after) of the changes within; of two in one step at most one is found."""
        found = []
        for at in range(start, end, step):
            before, after = self.offset(at), self.offset(at + step)
            if before != after:
                low, high = at, at + step
                while high - low > 1:
                    middle = (low + high) // 2
                    if self.offset(middle) == before:
                        low = middle
                    else:
                        high = middle
                found.append((high, before, after))
        return found


def random_field(chance, low, high):
    """A field's text and the values it says."""
    if chance.random() < 0.12:
        return "*", set(range(low, high + 1))
    if chance.random() < 0.1:
        step = chance.randint(1, high)
        return f"*/{step}", set(range(low, high + 1, step))
    items, values = [], set()
    # A week has the days 0 to 7.
    most = 7 if (low, high) == WEEKDAYS else high
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        first = chance.randint(low, high)
        last, step = first, 1
        text = str(first)
        if chance.random() < 0.1:
            last, step = most, chance.randint(1, high)
            text += f"/{step}"
        elif chance.random() < 0.3:
            last = chance.randint(first, high)
            text += f"-{last}"
            if chance.random() < 0.5:
                step = chance.randint(1, high)
                text += f"/{step}"
        items.append(text)
        values |= {value % 7 if most == 7 else value for value in range(first, last + 1, step)}
    return ",".join(items), values


def split_days(text, values):
    """croniter 1.3, asked in February for the 1st or the 31st, runs past 1 March. So it is asked for each of the last days alone."""
    if text.startswith("*") and "/" not in text or len(values) == 1 or max(values) <= 28:
        return [text]
    early = sorted(value for value in values if value <= 28)
    return [str(value) for value in sorted(values) if value > 28] + ([",".join(map(str, early))] if early else [])


class Expression:
    def __init__(self, chance):
        texts, values = [], []
        for index, (low, high) in enumerate(FIELDS):
            if index in (2, 3, 4) and chance.random() < 0.6:
                text, field = "*", set(range(low, high + 1))
            elif index == 1 and chance.random() < 0.4:  # where clocks are changed
                hours = sorted(chance.sample(range(4), chance.randint(1, 3)))
                text, field = ",".join(map(str, hours)), set(hours)
            else:
                text, field = random_field(chance, low, high)
            texts.append(text)
            values.append(field)
        self.text = " ".join(texts)
        self.is_real_time = texts[0].startswith("*") or texts[1].startswith("*")
        # Debian's rule, which is weir's: restricted is what does not begin with a star.
        self.day_or = not texts[2].startswith("*") and not texts[4].startswith("*")
        # croniter takes a list of all values for a star; where either day is enough, such a list means every day.
        if self.day_or and (len(values[2]) == 31 or len(values[4]) == 7):
            texts[2] = texts[4] = "*"
        elif self.day_or:
            # Where either day is enough, croniter gives up over a day that none of the months has; it adds nothing.
            dates = {day for day in values[2] if any(day <= LONGEST[month] for month in values[3])}
            if dates != values[2]:
                texts[2] = ",".join(map(str, sorted(dates))) or "*"
                values[2] = dates or {1}
        self.croniter_texts = [" ".join([*texts[:2], days, *texts[3:]]) for days in split_days(texts[2], values[2])]

    def parts(self, start):
        return [croniter(text, start, day_or=self.day_or, max_years_between_matches=50).all_next(datetime)
                for text in self.croniter_texts]

    def first_of_each(self, start):
        return [time for time in (next(part, None) for part in self.parts(start)) if time is not None]

    def after(self, start):
        """What croniter has after a time or label, in order."""
        last = None
        for time in heapq.merge(*self.parts(start)):
            if time != last:
                yield time
            last = time

    def matches(self, label):
        return label.second == 0 and next(self.after(label - timedelta(minutes=1)), None) == label

    def has_date(self):
        return next(self.after(EPOCH), None) is not None


def occurrences(label, offsets, zone):
    """The times at which the zone's clock shows a label."""
    return sorted(label - offset for offset in offsets if zone.offset(label - offset) == offset)


def fires(expression, labels, zone, changes, offsets):
    """When an expression fires: the rules of weir/cron.h. labels: the times of the day that match."""
    times = set()
    for label in labels:
        shown = occurrences(label, offsets, zone)
        if expression.is_real_time:
            times.update(shown)  # whenever clocks show it
        elif shown:
            times.add(shown[0])  # at its first occurrence
        else:
            times.update(at for at, before, after in changes if at + before <= label < at + after)  # at the change
    return times


def explain(expression, zone, start, ours, theirs, changes, offsets):
    """Why croniter, asked with a zone, differs near a change; None: for no known reason."""
    moved = zone.offset(start) - zone.offset(ours)
    label = theirs + zone.offset(theirs)
    if moved != 0 and theirs == ours + moved:
        return "croniter moves its answer by the difference of the offsets"
    if any(at == ours and at + before < at + after for at, before, after in changes):
        return "a skipped time: weir at the change, croniter later"
    if not expression.matches(label_of(label)):
        return "croniter's time does not match its expression"
    if expression.is_real_time and len(occurrences(ours + zone.offset(ours), offsets, zone)) > 1 and ours < theirs:
        return "a repeated time: croniter leaves the second out"
    if len(occurrences(label, offsets, zone)) > 1 and theirs < ours:
        return "a repeated time: croniter has it again, or goes back to it"
    return None


class Case:
    def __init__(self, chance, zone):
        self.zone = zone
        self.expression = Expression(chance)
        year = seconds_of(datetime(chance.randint(1971, 2100), 1, 1))
        found = zone.changes(year, year + 366 * DAY, 5 * DAY)
        if found and chance.random() < 0.85:
            self.after = chance.choice(found)[0] - chance.randint(0, 2 * DAY)
        else:
            self.after = year + chance.randint(0, 365 * DAY)
        self.until = self.after + chance.choice([2, 4, 30]) * DAY

    def line(self):
        return f"0\t{self.after}\t{self.until}\tCRON_TZ={self.zone.name} {self.expression.text}"

    def expect(self):
        """All firings within, and what they were made from; None: too many."""
        begin, end = self.after - 2 * DAY, self.until + 2 * DAY
        self.changes = self.zone.changes(begin, end, 3600)
        self.offsets = {self.zone.offset(begin)} | {after for _, _, after in self.changes}
        first = label_of(begin + self.zone.offset(begin)).replace(second=0) - timedelta(minutes=1)
        last = label_of(end + self.zone.offset(end))
        labels = []
        for label in self.expression.after(first):
            if label > last or len(labels) > LABELS_MAX:
                break
            labels.append(seconds_of(label))
        if len(labels) > LABELS_MAX:
            return None
        times = fires(self.expression, labels, self.zone, self.changes, self.offsets)
        return sorted(at for at in times if self.after < at <= self.until)


class Campaign:
    def __init__(self, program, seed):
        self.program = program
        self.chance = random.Random(seed)
        self.counts = Counter()
        self.reasons = Counter()
        self.failures = []

    def ask(self, cases):
        lines = "".join(case.line() + "\n" for case in cases)
        result = subprocess.run([self.program], input=lines, capture_output=True, text=True, check=True, timeout=100)
        return result.stdout.splitlines()

    def fail(self, case, text):
        self.failures.append(f"{case.line()!r}: {text}")

    def compare_all(self, case, ours):
        expected = case.expect()
        if expected is None:
            self.counts["expressions with too many firings"] += 1
            return
        self.counts["expressions"] += 1
        self.counts["firings"] += len(expected)
        self.counts["of skipped or repeated times"] += sum(
            1 for at in expected if any(change - 2 * 3600 <= at <= change + 2 * 3600 for change, _, _ in case.changes))
        if ours != expected:
            missing, extra = sorted(set(expected) - set(ours))[:3], sorted(set(ours) - set(expected))[:3]
            self.fail(case, f"weir has not {missing}, croniter's calendar has not {extra}")
        else:
            self.compare_single(case, ours)

    def compare_single(self, case, ours):
        """croniter with the zone: from just after each of a few firings to the next."""
        starts = [case.after, *ours[:-1]]
        for index in sorted(self.chance.sample(range(len(ours)), min(3, len(ours)))):
            start, answer = starts[index], ours[index]
            local = datetime.fromtimestamp(start, case.zone.info)
            theirs = min(round(time.timestamp()) for time in case.expression.first_of_each(local))
            if theirs == answer:
                self.counts["single answers alike"] += 1
                continue
            low, high = start - 26 * 3600, max(answer, theirs) + 26 * 3600
            near = case.zone.changes(low, high, 3600)
            reason = explain(case.expression, case.zone, start, answer, theirs, near, case.offsets) if near else None
            if reason is None:
                self.fail(case, f"after {start} weir has {answer}, croniter {theirs}; changes: {near}")
            else:
                self.reasons[reason] += 1

    def run(self, scale):
        names = sorted(zoneinfo.available_timezones() - {"localtime"})
        cases = []
        for name in names:
            zone = Zone(name)
            cases += [Case(self.chance, zone) for _ in range(max(1, round(CASES_PER_ZONE * scale)))]
        for case, line in zip(cases, self.ask(cases), strict=True):
            if line.startswith("WEIR_"):
                if case.expression.has_date():
                    self.fail(case, line)
                self.counts["expressions without a date, refused"] += 1
                continue
            self.compare_all(case, [int(word) for word in line.split()])
        return len(names)


def main(arguments):
    program = arguments[0]
    seed = int(arguments[arguments.index("--seed") + 1]) if "--seed" in arguments else random.SystemRandom().getrandbits(40)
    scale = float(os.environ.get("WEIR_TEST_SCALE", "1"))
    zoneinfo.reset_tzpath(to=["/usr/share/zoneinfo"])
    began = time.monotonic()
    campaign = Campaign(program, seed)
    zones = campaign.run(scale)
    print(f"seed {seed}: {zones} zones, {time.monotonic() - began:.1f} s")
    for name, count in campaign.counts.items():
        print(f"{count:8} {name}")
    print(f"{sum(campaign.reasons.values()):8} single answers near a change that differ, of which")
    for name, count in campaign.reasons.most_common():
        print(f"{count:8}     {name}")
    for failure in campaign.failures[:10]:
        print(f"FAILED {failure}")
    if campaign.failures:
        print(f"{len(campaign.failures)} failures; again: {sys.argv[0]} {program} --seed {seed}")
        return 1
    if zones < 300 or campaign.counts["expressions"] < zones / 2:
        print("FAILED: too little was compared")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
