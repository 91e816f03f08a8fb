// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import assert from "node:assert/strict";
import { test } from "node:test";
import { dump, duration, pretty, quote, rate, rates, relative, short, size, time } from "../src/format.js";
import { address, parse, rest } from "../src/live.js";

test("numbers are short", () => {
    for (const [n, text] of [[0, "0"], [0.256, "0.26"], [12.34, "12.3"], [9999, "9999"], [12345, "12.3k"],
        [1e6, "1M"], [2.5e9, "2.5G"]]) assert.equal(short(n), text);
    for (const [n, text] of [[0, "0/s"], [0.1, "6/min"], [2, "2/s"]]) assert.equal(rate(n), text);
    for (const [n, text] of [[0, "0 B"], [1023, "1023 B"], [1536, "1.5 KiB"], [3 << 20, "3.0 MiB"]]) {
        assert.equal(size(n), text);
    }
});

test("lengths of time have their two largest units", () => {
    for (const [n, text] of [[0, "0 s"], [59, "59 s"], [60, "1 min"], [61, "1 min 1 s"], [3600, "1 h"],
        [3661, "1 h 1 min"], [90061, "1 d 1 h"], [86400 + 60, "1 d"]]) assert.equal(duration(n), text);
    const now = Date.parse("2026-11-23T12:00:00Z");
    assert.equal(relative("2026-11-23T12:05:00Z", now), "in 5 min");
    assert.equal(relative("2026-11-23T11:59:00Z", now), "1 min ago");
    assert.equal(relative("2026-11-23T12:00:00.5Z", now), "now");
});

test("a time has its zone", () => {
    const text = time("2026-11-23T12:00:00.123456789Z");
    assert.match(text, /^\d{4}-\d\d-\d\d \d\d:\d\d:00 [+-]\d\d:\d\d$/);
    assert.equal(Date.parse(text.replace(" ", "T").replace(" ", "")), Date.parse("2026-11-23T12:00:00Z"));
    assert.equal(time("nonsense"), "nonsense");
});

test("rates are those of each step, and a counter that fell began anew", () => {
    assert.deepEqual(rates([10, 12, 13, 14], [0, 4, 1, 3]), [null, 2, 0, 2]);
    assert.deepEqual(rates([], []), []);
});

test("words are quoted for a shell", () => {
    for (const [text, quoted] of [["mail", "mail"], ["a b", "'a b'"], ["it's", "'it'\\''s'"], ["", "''"],
        ["$(x)", "'$(x)'"], ["a\nb", "'a\nb'"]]) assert.equal(quote(text), quoted);
});

test("bodies are shown as JSON, text or bytes", () => {
    assert.equal(pretty('{"a":1}'), '{\n  "a": 1\n}');
    for (const value of [{}, [], { a: {}, b: [] }, { a: [1, { b: null, c: [[true, "x,y:[{"]] }], d: "\"\\" }, [[[]]]]) {
        for (const text of [JSON.stringify(value), ` ${JSON.stringify(value, null, 7)}\n`]) {
            assert.equal(pretty(text), JSON.stringify(value, null, 2));
        }
    }
    assert.equal(pretty("{a"), "{a");
    assert.equal(pretty("12"), "12");
    assert.equal(dump(btoa("\x00AB")), "00000000  00 41 42" + " ".repeat(39) + "  .AB");
});

test("JSON is shown as it is written: no number is rounded, nothing is left out", () => {
    for (const text of ["12345678901234567890", "1.10", "-0", "1E400", "1e2", '"\\u00e4\\/"', '"__proto__"']) {
        assert.equal(pretty(`{"a":${text},"a":[${text}]}`), `{\n  "a": ${text},\n  "a": [\n    ${text}\n  ]\n}`);
    }
    const deep = "[".repeat(10000) + "1.0" + "]".repeat(10000);
    assert.equal(pretty(deep).replace(/\s/g, ""), deep);
    assert.ok(pretty(deep).length < 2000000);
});

test("what takes long to read is read more rarely", () => {
    for (const [seconds, took, wait] of [[1000, 5, 1000], [1000, 1000, 9000], [30000, 1000, 30000]]) {
        assert.equal(rest(seconds, took), wait);
    }
});

test("an address comes back as what it was made of", () => {
    for (const [view, name, fields] of [["overview", "", {}], ["tube", "a/b %?#ü", { state: "buried", text: "x&y" }],
        ["job", "127.0.0.1:1/t/3", {}]]) assert.deepEqual(parse(address(view, name, fields)), { view, name, fields });
    assert.deepEqual(parse("#/tube/%"), { view: "tube", name: "", fields: {} });
});
