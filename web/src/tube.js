// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import { useEffect, useRef, useState } from "preact/hooks";
import { change, get, matching, post, segment } from "./api.js";
import { count, jobs as plural, relative, size } from "./format.js";
import { address, parse, useKeys, useReading } from "./live.js";
import { paused, Samples } from "./overview.js";
import { Empty, ending, Failure, html, outcome, State, STATES, Time } from "./parts.js";

const PAGE = 50;

// What may be done with jobs, and in which states it does something.
const ACTIONS = [
    { what: "kick", label: "kick", states: ["buried"], note: "They become ready now." },
    { what: "bury", label: "bury", states: ["ready", "delayed"],
        note: "They are set aside until somebody kicks them." },
    { what: "cancel", label: "end", states: ["reserved"], danger: true },
    { what: "rm", label: "remove", states: ["ready", "delayed", "buried", "ended"], danger: true,
        note: "They are gone for good." },
];

function reading(tube, state, text, after, isCluster) {
    if (isCluster === undefined) return async () => ({ jobs: [] }); // It is not known yet what can be asked.
    const path = `tubes/${segment(tube)}/`;
    return (signal) => (isCluster ? get(path + "peek", { state, limit: 10, body: "true" }, signal)
        : get(path + "jobs", { state, text, limit: PAGE, after, body: "true" }, signal));
}

function capital(word) {
    return word[0].toUpperCase() + word.slice(1);
}

function beginning(job) {
    if (job.body_hidden) return "(hidden)";
    if (job.body === undefined) return "";
    if (job.encoding === "base64") return "(" + size(job.size) + " of bytes)";
    const line = job.body.slice(0, 160).replace(/\s+/g, " ");
    return job.body.length > 160 ? line + "…" : line;
}

function Jobs({ jobs, now, chosen, choose, row, mayChange }) {
    const all = jobs.length > 0 && jobs.every((job) => chosen.has(job.id));
    return html`<div class="panel scroll"><table class="list">
        <thead><tr>
            ${mayChange && html`<th class="tick"><input type="checkbox" aria-label="Choose all on this page"
                checked=${all} onChange=${() => choose(jobs.map((job) => job.id), !all)} /></th>`}
            <th>id</th><th>state</th><th>due</th><th class="number">attempts</th><th class="number">priority</th>
            <th class="number">size</th><th>body</th><th>reason</th></tr></thead>
        <tbody>${jobs.map((job, i) => html`<tr key=${job.id} class=${i === row ? "chosen" : ""}>
            ${mayChange && html`<td class="tick"><input type="checkbox" aria-label="Choose job ${job.id}"
                checked=${chosen.has(job.id)} onChange=${() => choose([job.id], !chosen.has(job.id))} /></td>`}
            <td><a href=${address("job", job.id)} class="id" title=${job.id}>${job.id}</a></td>
            <td><${State} of=${job.state} /></td>
            <td><${Time} at=${job.run_at} now=${now} /></td>
            <td class="number">${job.attempts}</td>
            <td class="number">${job.priority}</td>
            <td class="number">${size(job.size)}</td>
            <td class="text">${beginning(job)}</td>
            <td class="text">${job.reason}</td>
        </tr>`)}</tbody></table></div>`;
}

// What is typed counts when it is finished: each letter would read the whole tube.
function Search({ field, text, commit }) {
    const [typed, setTyped] = useState(text);
    useEffect(() => setTyped(text), [text]);
    return html`<input ref=${field} type="search" placeholder="Text in body or reason ( / )"
        aria-label="Text in body or reason" value=${typed} onInput=${(event) => setTyped(event.target.value)}
        onChange=${(event) => commit(event.target.value)} />`;
}

function putForm() {
    return html`<label>Body<textarea name="body" rows="6" spellcheck=${false} autofocus></textarea></label>
        <div class="row"><label>Delay<input name="delay" placeholder="now, or e.g. 10m" /></label>
        <label>Priority<input name="priority" inputmode="numeric" placeholder="0" /></label></div>`;
}

function pauseForm() {
    return html`<label>For how long
        <input name="duration" placeholder="until resumed, or e.g. 30m" autofocus /></label>`;
}

export function Tube({ name, fields, seconds, stats, act, ask, theme }) {
    const state = [...STATES, "ended"].includes(fields.state) ? fields.state : "";
    const text = fields.text || "";
    const [pages, setPages] = useState([""]);
    const [chosen, setChosen] = useState(new Set());
    const [row, setRow] = useState(-1);
    const search = useRef();
    const isCluster = stats ? stats.broker === "beanstalk" : undefined;
    const after = pages.at(-1);
    const filter = [name, state, text].join("\n");
    useEffect(() => {
        setPages([""]);
        setChosen(new Set());
        setRow(-1);
    }, [filter]);
    const tube = useReading((signal) => get("tubes/" + segment(name), {}, signal), name, seconds);
    const jobs = useReading(reading(name, state, text, after, isCluster),
        [filter, after, isCluster].join("\n"), stats ? seconds : 0);
    const samples = useReading((signal) => get("samples", { tube: name }, signal), name,
        seconds && Math.max(seconds, 10));
    const list = jobs.data?.jobs || [];
    const next = jobs.data?.next;
    const again = () => {
        tube.again();
        jobs.again();
        setChosen(new Set());
    };
    // On top of what the address says now, which may not have been drawn yet.
    const go = (more) => { location.hash = address("tube", name, { ...parse(location.hash).fields, ...more }); };
    const mayChange = stats?.may_change;
    const now = Date.now();

    const choose = (ids, on) => setChosen((old) => {
        const next = new Set(old);
        for (const id of ids) if (on) next.add(id); else next.delete(id);
        return next;
    });
    const run = (action, ids, more = {}) => act(action.label, plural(ids.length), async (tell) =>
        outcome(await change(action.what, ids, more, (n) => tell(`${count(n)} of ${count(ids.length)}`))), again);
    const runAll = (action, more = {}) => act(action.label, "all that match", async (tell) => {
        const of = action.what === "cancel" ? "reserved" : state;
        const ids = await matching(name, { state: of, text }, (n) => tell(`${count(n)} found`));
        return outcome(await change(action.what, ids, more, (n) => tell(`${count(n)} of ${count(ids.length)}`)));
    }, again);
    const askFor = (action) => ask(action.what === "cancel"
        ? ending(plural(chosen.size), (verdict) => run(action, [...chosen], { verdict })) : {
        title: `${capital(action.label)} ${plural(chosen.size)}?`,
        text: action.note, act: action.label, danger: action.danger, run: () => run(action, [...chosen]),
    });
    const askForAll = (action) => ask(action.what === "cancel"
        ? ending(`every job of ${name} that is being run`, (verdict) => runAll(action, { verdict })) : {
        title: `${capital(action.label)} every ${state ? state + " job" : "job"} of ${name}` +
            `${text ? ` with “${text}”` : ""}?`,
        text: action.note + " Jobs that are being run are left alone.", act: action.label, danger: action.danger,
        run: () => runAll(action),
    });
    const put = () => ask({
        title: "Put a job into " + name, act: "put", fields: putForm(),
        run: ({ body, delay, priority }) => act("put", name, async () => {
            const job = { body };
            if (delay.trim()) job.delay = delay.trim();
            if (priority.trim()) job.priority = Number(priority);
            return "job " + (await post(`tubes/${segment(name)}/jobs`, job)).id;
        }, again),
    });
    const pause = () => ask({
        title: "Pause " + name, text: "No worker takes a job of it meanwhile.", act: "pause", fields: pauseForm(),
        run: ({ duration }) => act("paused", name, () =>
            post(`tubes/${segment(name)}/pause`, duration.trim() ? { duration: duration.trim() } : {}), again),
    });
    const resume = () => act("resumed", name, () => post(`tubes/${segment(name)}/resume`), again);
    useKeys({
        "/": () => search.current?.focus(),
        j: () => setRow(Math.min(row + 1, list.length - 1)),
        k: () => setRow(Math.max(row - 1, 0)),
        x: () => mayChange && list[row] && choose([list[row].id], !chosen.has(list[row].id)),
        Enter: () => list[row] && (location.hash = address("job", list[row].id)),
    });
    const t = tube.data;
    const total = t ? STATES.reduce((sum, one) => sum + t[one], 0) : 0;

    return html`<main>
        <div class="row heading"><h1>${name} ${t && paused(t)}</h1>
            ${mayChange && html`<div class="row">
                <button onClick=${put}>put a job</button>
                ${t?.paused_until ? html`<button onClick=${resume}>resume</button>`
                    : html`<button onClick=${pause}>pause</button>`}</div>`}</div>
        <${Failure} error=${tube.error || jobs.error} />
        ${t?.paused_until && t.paused_until !== "resumed" && html`
            <p class="notice">Paused; it resumes ${relative(t.paused_until, now)}.</p>`}
        ${samples.data?.at.length > 1 && html`<${Samples} samples=${samples.data} theme=${theme} />`}
        ${t && html`<div class="row heading">
            <nav class="tabs" aria-label="Jobs by state">${["", ...STATES, ...(isCluster ? [] : ["ended"])].map((one) => html`
                <a href=${address("tube", name, { state: one, text })} aria-current=${one === state ? "page" : null}>
                    ${one === "reserved" ? "running" : one || "all"}${" "}
                    ${one !== "ended" && html`<b>${count(one ? t[one] : total)}</b>`}</a>`)}</nav>
            ${!isCluster && html`<${Search} field=${search} text=${text} commit=${(typed) => go({ text: typed })} />`}
        </div>`}
        ${isCluster && html`<p class="note">beanstalkd shows the first job of each state of each node only.</p>`}
        ${mayChange && list.length > 0 && html`<div class="row bar">
            <span>${chosen.size ? `${count(chosen.size)} chosen:` : isCluster ? "Choose jobs to change them."
                : "Choose jobs, or all that match:"}</span>
            ${ACTIONS.filter(({ what }) => what !== "cancel" || !isCluster).map((action) => chosen.size
                ? html`<button class=${action.danger ? "danger" : ""} onClick=${() => askFor(action)}>
                    ${action.label}</button>`
                : !isCluster && (!state || action.states.includes(state)) && html`
                    <button class=${action.danger ? "danger" : ""} onClick=${() => askForAll(action)}>
                    ${action.label} all</button>`)}
        </div>`}
        ${stats && jobs.data && (list.length === 0
            ? html`<${Empty}>${next ? "No job matches so far." : text ? "No job matches." : state ? `No job is ${state}.`
                : "There are no jobs."}<//>`
            : html`<${Jobs} jobs=${list} now=${now} chosen=${chosen} choose=${choose} row=${row}
                mayChange=${mayChange} />`)}
        ${next && list.length < PAGE && html`<p class="note">These are the jobs up to number ${next}: it would take
            long to find more at once. “next” goes on from there.</p>`}
        <div class="row end">
            ${pages.length > 1 && html`<button onClick=${() => setPages(pages.slice(0, -1))}>← previous</button>`}
            ${next && html`<button onClick=${() => setPages([...pages, next])}>next →</button>`}
        </div>
    </main>`;
}
