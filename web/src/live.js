// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// What several views share: reading again and again, the address, settings, notices.

import { useEffect, useRef, useState } from "preact/hooks";

// --- settings, which outlive the tab ---

export function useSetting(name, initial) {
    const [value, set] = useState(() => localStorage.getItem("weir." + name) ?? initial);
    return [value, (next) => {
        localStorage.setItem("weir." + name, next);
        set(next);
    }];
}

// --- reading ---

// Until the next reading, after one that took so long: a page that is open asks for a tenth of a worker at most.
export function rest(seconds, took) {
    return Math.max(seconds, 9 * took);
}

// Reads at once, and again each `seconds` (0: never) while the tab can be seen. The last answer stays while a reading
// fails, and an answer that comes after its question changed is dropped. Returns {data, error, again}.
export function useReading(read, key, seconds) {
    const [state, set] = useState({ key: null, data: null, error: null });
    const [turn, setTurn] = useState(0);
    const latest = useRef(read);
    latest.current = read;
    useEffect(() => {
        const aborter = new AbortController();
        let timer = null;
        const once = async () => {
            clearTimeout(timer);
            const begun = performance.now();
            try {
                const data = await latest.current(aborter.signal);
                if (!aborter.signal.aborted) set({ key, data, error: null });
            } catch (error) {
                if (aborter.signal.aborted) return;
                set((old) => ({ key, data: old.key === key ? old.data : null, error }));
            }
            if (seconds > 0 && !document.hidden && !aborter.signal.aborted) {
                timer = setTimeout(once, rest(seconds * 1000, performance.now() - begun));
            }
        };
        const seen = () => {
            if (!document.hidden && seconds > 0) once();
            else clearTimeout(timer);
        };
        once();
        document.addEventListener("visibilitychange", seen);
        return () => {
            document.removeEventListener("visibilitychange", seen);
            clearTimeout(timer);
            aborter.abort();
        };
    }, [key, seconds, turn]);
    const fresh = state.key === key;
    return { data: fresh ? state.data : null, error: fresh ? state.error : null, again: () => setTurn((n) => n + 1) };
}

// --- the address: #/tube/NAME?state=buried ---

export function parse(hash) {
    const [path, text] = hash.replace(/^#\/?/, "").split("?");
    const [view, ...rest] = path.split("/");
    let name = "";
    try {
        name = decodeURIComponent(rest.join("/"));
    } catch { /* an address that somebody cut: the overview */ }
    return { view: view || "overview", name, fields: Object.fromEntries(new URLSearchParams(text || "")) };
}

export function address(view, name, fields) {
    const given = Object.entries(fields || {}).filter(([, value]) => value !== "" && value != null);
    const path = view === "overview" ? "#/" : "#/" + view + (name ? "/" + encodeURIComponent(name) : "");
    return path + (given.length ? "?" + new URLSearchParams(given) : "");
}

export function useAddress() {
    const [hash, set] = useState(location.hash);
    useEffect(() => {
        const changed = () => set(location.hash);
        addEventListener("hashchange", changed);
        return () => removeEventListener("hashchange", changed);
    }, []);
    return parse(hash);
}

// --- keys ---

// Keys of a view: {key: function}. None counts while somebody types, or holds a modifier.
export function useKeys(keys) {
    const latest = useRef(keys);
    latest.current = keys;
    useEffect(() => {
        const pressed = (event) => {
            const typing = event.target.closest("input, textarea, select, dialog");
            if (typing || event.ctrlKey || event.altKey || event.metaKey) return;
            const act = latest.current[event.key];
            if (act) {
                event.preventDefault();
                act();
            }
        };
        addEventListener("keydown", pressed);
        return () => removeEventListener("keydown", pressed);
    }, []);
}
