// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import { useRef, useState } from "preact/hooks";
import { get, post, segment } from "./api.js";
import { count, rate, rates, short } from "./format.js";
import { address, useKeys, useReading, useSetting } from "./live.js";
import { Plot } from "./plot.js";
import { Empty, Failure, html } from "./parts.js";

const SPANS = [["1s", "6 min"], ["10s", "1 h"], ["5m", "30 h"]];

function Tiles({ stats, done, failed }) {
    const tiles = [
        ["ready", count(stats.ready), "may run now", "ready"],
        ["delayed", count(stats.delayed), "wait for their time", "delayed"],
        ["running", count(stats.reserved), "reserved by workers", "reserved"],
        ["buried", count(stats.buried), "need somebody", stats.buried > 0 ? "buried" : ""],
        ["done", rate(done), count(stats.done) + " in all", ""],
        ["failed", rate(failed), count(stats.failed) + " runs in all", failed > 0 ? "failed" : ""],
    ];
    return html`<dl class="tiles">${tiles.map(([name, value, note, kind]) => html`
        <div class="tile ${kind}"><dt>${name}</dt><dd><strong>${value}</strong><span>${note}</span></dd></div>`)}</dl>`;
}

// The mean over the last steps that are known: one second alone jumps.
function mean(values) {
    const known = values.filter((value) => value != null).slice(-10);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : 0;
}

export function Samples({ samples, theme }) {
    const { at } = samples;
    return html`<div class="plots">
        <${Plot} title="Jobs" at=${at} theme=${theme} lines=${[
            { label: "ready", color: "--ready", values: samples.ready, fill: true },
            { label: "delayed", color: "--delayed", values: samples.delayed },
            { label: "running", color: "--reserved", values: samples.reserved },
            { label: "buried", color: "--buried", values: samples.buried }]} />
        <${Plot} title="Throughput" unit="/s" at=${at} theme=${theme} lines=${[
            { label: "put", color: "--delayed", values: rates(at, samples.put) },
            { label: "done", color: "--ready", values: rates(at, samples.done), fill: true },
            { label: "failed", color: "--buried", values: rates(at, samples.failed) }]} />
    </div>`;
}

export function Spans({ span, set }) {
    return html`<div class="segments" role="group" aria-label="Time shown">${SPANS.map(([step, label]) => html`
        <button aria-pressed=${span === step} onClick=${() => set(step)}>${label}</button>`)}</div>`;
}

const COLUMNS = ["tube", "ready", "delayed", "reserved", "buried", "done", "failed"];

function sorted(tubes, column, falls) {
    const order = (a, b) => (column === "tube" ? a.tube.localeCompare(b.tube) : a[column] - b[column]);
    return [...tubes].sort((a, b) => (falls ? -order(a, b) : order(a, b)) || a.tube.localeCompare(b.tube));
}

export function paused(tube) {
    if (!tube.paused_until) return null;
    const text = tube.paused_until === "resumed" ? "paused" : "paused until " + tube.paused_until.slice(0, 19) + "Z";
    return html`<span class="state paused" title=${text}>paused</span>`;
}

// Rows that are drawn at once; a search finds the others.
const ROWS_MAX = 300;

export function Overview({ seconds, stats, act, theme }) {
    const [span, setSpan] = useSetting("span", "1s");
    const [search, setSearch] = useState("");
    const [order, setOrder] = useState({ column: "tube", falls: false });
    const [row, setRow] = useState(-1);
    const field = useRef();
    const tubes = useReading((signal) => get("tubes", {}, signal), "tubes", seconds);
    const samples = useReading((signal) => get("samples", { step: span }, signal), span, seconds);
    const found = sorted((tubes.data?.tubes || []).filter((tube) => tube.tube.includes(search)),
        order.column, order.falls);
    const shown = found.slice(0, ROWS_MAX);
    useKeys({
        "/": () => field.current.focus(),
        j: () => setRow(Math.min(row + 1, shown.length - 1)),
        k: () => setRow(Math.max(row - 1, 0)),
        Enter: () => shown[row] && (location.hash = address("tube", shown[row].tube)),
    });
    const sort = (column) => setOrder({ column, falls: order.column === column ? !order.falls : column !== "tube" });
    const s = samples.data;
    const done = s ? mean(rates(s.at, s.done)) : 0;
    const failed = s ? mean(rates(s.at, s.failed)) : 0;
    const toggle = (tube) => act(tube.paused_until ? "resumed" : "paused", tube.tube, () =>
        post(`tubes/${segment(tube.tube)}/${tube.paused_until ? "resume" : "pause"}`), tubes.again);
    const kick = (tube) => act("kicked", tube.tube, () =>
        post(`tubes/${segment(tube.tube)}/kick`, { count: 1000 }), tubes.again);

    return html`<main>
        <h1 class="hidden">Overview</h1>
        <${Failure} error=${tubes.error || samples.error} />
        ${stats && html`<${Tiles} stats=${stats} done=${done} failed=${failed} />`}
        <div class="row heading"><h2>History</h2><${Spans} span=${span} set=${setSpan} /></div>
        ${s && (s.at.length > 1 ? html`<${Samples} samples=${s} theme=${theme} />`
            : html`<${Empty}>Samples are being gathered, one a second since this server started.<//>`)}
        <div class="row heading"><h2>Tubes</h2>
            <input ref=${field} type="search" placeholder="Search tubes ( / )" aria-label="Search tubes" value=${search}
                onInput=${(event) => { setSearch(event.target.value); setRow(-1); }} /></div>
        ${tubes.data && (shown.length === 0
            ? html`<${Empty}>${search ? "No tube has this in its name." : html`No tube has had a job yet. Try${" "}
                <code>weir put TUBE 'a body'</code>.`}<//>`
            : html`<div class="panel scroll"><table class="list">
            <thead><tr>${COLUMNS.map((column) => html`
                <th class=${column === "tube" ? "" : "number"}
                    aria-sort=${order.column === column ? (order.falls ? "descending" : "ascending") : "none"}>
                    <button class="plain" onClick=${() => sort(column)}>${column === "reserved" ? "running" : column}
                    ${order.column === column ? (order.falls ? " ↓" : " ↑") : ""}</button></th>`)}
                <th><span class="hidden">actions</span></th></tr></thead>
            <tbody>${shown.map((tube, i) => html`<tr key=${tube.tube} class=${i === row ? "chosen" : ""}>
                <td><a href=${address("tube", tube.tube)}>${tube.tube}</a> ${paused(tube)}</td>
                <td class="number">${count(tube.ready)}</td>
                <td class="number">${count(tube.delayed)}</td>
                <td class="number">${count(tube.reserved)}</td>
                <td class="number ${tube.buried ? "bad" : ""}">${tube.buried ? html`
                    <a href=${address("tube", tube.tube, { state: "buried" })}>${count(tube.buried)}</a>` : 0}</td>
                <td class="number">${short(tube.done)}</td>
                <td class="number">${short(tube.failed)}</td>
                <td class="actions">${stats?.may_change && html`
                    <button disabled=${!tube.buried} onClick=${() => kick(tube)}
                        aria-label="Kick the buried jobs of ${tube.tube}">kick</button>
                    <button onClick=${() => toggle(tube)}
                        aria-label="${tube.paused_until ? "Resume" : "Pause"} ${tube.tube}">
                        ${tube.paused_until ? "resume" : "pause"}</button>`}</td>
            </tr>`)}</tbody></table></div>`)}
        ${found.length > shown.length && html`
            <p class="note">${count(found.length - shown.length)} more tubes: search.</p>`}
    </main>`;
}
