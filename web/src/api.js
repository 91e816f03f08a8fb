// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// Requests to the API, which lies beside the page: so all addresses are relative, and a path prefix needs no care.

const TOKEN = "weir.token";

export class ApiError extends Error {
    constructor(status, text) {
        super(text);
        this.status = status;
    }
}

// The token lives as long as the tab.
export function setToken(token) {
    sessionStorage.setItem(TOKEN, token);
}

async function ask(path, options) {
    const token = sessionStorage.getItem(TOKEN);
    const headers = { ...options.headers };
    if (token) headers.Authorization = "Bearer " + token;
    let response;
    try {
        response = await fetch("api/v1/" + path, { ...options, headers, redirect: "error" });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new ApiError(0, "The server does not answer. Is weir serve still running?");
    }
    let answer = {};
    try {
        answer = await response.json();
    } catch {
        if (response.ok) throw new ApiError(response.status, "The answer was cut off.");
    }
    if (!response.ok) throw new ApiError(response.status, answer.error || "status " + response.status);
    return answer;
}

// Fields without a value are left out.
function query(fields) {
    const given = Object.entries(fields || {}).filter(([, value]) => value !== "" && value != null);
    return given.length ? "?" + new URLSearchParams(given) : "";
}

export function get(path, fields, signal) {
    return ask(path + query(fields), { signal });
}

export function post(path, body) {
    return ask(path, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body || {}),
    });
}

export const segment = encodeURIComponent;

const IDS_MAX = 1000;

// Does something with jobs, in requests of bounded size. tell receives how many there are so far.
export async function change(what, ids, more, tell) {
    const counts = {};
    for (let at = 0; at < ids.length; at += IDS_MAX) {
        const answer = await post(what, { ...more, ids: ids.slice(at, at + IDS_MAX) });
        for (const { result } of answer.results) counts[result] = (counts[result] || 0) + 1;
        tell(Math.min(at + IDS_MAX, ids.length));
    }
    return counts;
}

// The ids of all jobs of a tube that a filter matches.
export async function matching(tube, filter, tell) {
    const ids = [];
    let after;
    do {
        const page = await get(`tubes/${segment(tube)}/jobs`, { ...filter, limit: IDS_MAX, after });
        for (const job of page.jobs) ids.push(job.id);
        after = page.next;
        tell(ids.length);
    } while (after);
    return ids;
}
