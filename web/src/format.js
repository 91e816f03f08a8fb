// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// Numbers and times as people read them. Pure functions: format.test.js.

export function count(n) {
    return n.toLocaleString("en");
}

export function jobs(n) {
    return count(n) + (n === 1 ? " job" : " jobs");
}

// Short, for axes and tiles: 12,345 is 12.3k.
export function short(n) {
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
        if (Math.abs(n) >= size) return (n / (unit === "k" ? 1e3 : size)).toFixed(1).replace(/\.0$/, "") + unit;
    }
    return String(Math.abs(n) >= 10 ? Math.round(n * 10) / 10 : Math.round(n * 100) / 100);
}

export function rate(perSecond) {
    if (perSecond === 0) return "0/s";
    if (perSecond < 1) return short(perSecond * 60) + "/min";
    return short(perSecond) + "/s";
}

export function size(bytes) {
    if (bytes < 1024) return bytes + " B";
    if (bytes < 1024 * 1024) return (bytes / 1024).toFixed(1) + " KiB";
    return (bytes / 1024 / 1024).toFixed(1) + " MiB";
}

// A length of time in its two largest units.
export function duration(seconds) {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    let left = Math.round(Math.abs(seconds));
    if (left === 0) return "0 s";
    const parts = [];
    for (const [length, name] of units) {
        const n = Math.floor(left / length);
        if (n > 0) parts.push(n + " " + name);
        left -= n * length;
        if (parts.length === 2 || (parts.length === 1 && n === 0)) break;
    }
    return parts.join(" ");
}

// A time as seen from now: "in 5 min", "3 h 2 min ago".
export function relative(text, now) {
    const seconds = (Date.parse(text) - now) / 1000;
    if (Math.abs(seconds) < 1) return "now";
    return seconds > 0 ? "in " + duration(seconds) : duration(seconds) + " ago";
}

// A time of the browser's zone to the second, with that zone: 2026-11-23 09:05:00 +01:00.
export function time(text) {
    const at = new Date(text);
    if (Number.isNaN(at.getTime())) return text;
    const two = (n) => String(Math.floor(n)).padStart(2, "0");
    const east = -at.getTimezoneOffset();
    const zone = (east < 0 ? "-" : "+") + two(Math.abs(east) / 60) + ":" + two(Math.abs(east) % 60);
    const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
    return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())} ${zone}`;
}

// What a cumulative count does in each step: the first value has no step before it, and a counter
// that fell began anew.
export function rates(at, counts) {
    return counts.map((n, i) => {
        if (i === 0) return null;
        const length = at[i] - at[i - 1];
        return length > 0 ? Math.max(0, n - counts[i - 1]) / length : null;
    });
}

// A word for a shell, quoted where it needs to be.
export function quote(text) {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replaceAll("'", "'\\''") + "'";
}

// Bytes of base64 as lines of a hexadecimal dump.
export function dump(base64) {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const lines = [];
    for (let at = 0; at < bytes.length; at += 16) {
        const row = [...bytes.subarray(at, at + 16)];
        const hex = row.map((b) => b.toString(16).padStart(2, "0")).join(" ").padEnd(47);
        const text = row.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : ".")).join("");
        lines.push(at.toString(16).padStart(8, "0") + "  " + hex + "  " + text);
    }
    return lines.join("\n");
}

// Indentation ends at this depth, so that a body of brackets alone does not grow without bound.
const DEEP = 40;

// JSON is shown with indentation, anything else as it is. What is parsed tells only whether it is JSON: a number would
// lose digits, and an object the members that are there twice. So each string and number is shown as it is written.
export function pretty(text) {
    if (!/^\s*[[{]/.test(text)) return text;
    try {
        JSON.parse(text);
    } catch {
        return text;
    }
    let depth = 0;
    let before = "";
    const line = () => "\n" + "  ".repeat(Math.min(depth, DEEP));
    return text.match(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^[\]{}:,"\s]+/g).map((token) => {
        const opened = before === "{" || before === "[";
        before = token;
        if (token === "}" || token === "]") {
            depth--;
            return opened ? token : line() + token;
        }
        const begun = opened ? line() : "";
        if (token === "{" || token === "[") depth++;
        return begun + (token === "," ? "," + line() : token === ":" ? ": " : token);
    }).join("");
}
