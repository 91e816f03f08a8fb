// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import { get, post, segment } from "./api.js";
import { count, duration } from "./format.js";
import { address, useReading } from "./live.js";
import { Empty, Failure, html, Time } from "./parts.js";

function times(one) {
    if (one.every_ns) return "every " + duration(one.every_ns / 1e9);
    return html`<code>${one.cron}</code>${one.zone && " " + one.zone}`;
}

const MISSED = {
    once: "times that were missed: one job for all", skip: "times that were missed: the last one, if it is recent",
    all: "times that were missed: a job for each",
};

// The form's values; those that are empty are left out.
function given(values) {
    const text = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value.trim()])
        .filter(([name, value]) => value !== "" && name !== "name"));
    return { ...text, body: values.body, overlap: values.overlap !== "no" };
}

function addForm() {
    return html`<div class="row"><label>Name<input name="name" required autofocus /></label>
            <label>Tube<input name="tube" required /></label></div>
        <div class="row"><label>Cron expression<input name="cron" placeholder="30 2 * * *" /></label>
            <label>Zone<input name="zone" placeholder="the server's" /></label></div>
        <div class="row"><label>Or every<input name="every" placeholder="10m" /></label>
            <label>Missed times<select name="missed">${Object.keys(MISSED).map((one) => html`
                <option>${one}</option>`)}</select></label>
            <label>Overlap<select name="overlap"><option>yes</option><option>no</option></select></label></div>
        <label>Body<textarea name="body" rows="3" spellcheck=${false}></textarea></label>`;
}

export function Schedules({ seconds, stats, act, ask }) {
    const { data, error, again } = useReading((signal) => get("schedules", {}, signal), "schedules", seconds);
    const schedules = data?.schedules || [];
    const mayChange = stats?.may_change;
    const now = Date.now();
    const change = (one, what, said) => act(said, one.schedule, async () => {
        await post(`schedules/${segment(one.schedule)}/${what}`);
    }, again);
    const add = () => ask({
        title: "Add a schedule", act: "add", fields: addForm(),
        text: "One of that name is changed. Give an expression, or how often.",
        run: (values) => act("added", values.name, async () => {
            await post(`schedules/${segment(values.name.trim())}`, given(values));
        }, again),
    });
    const remove = (one) => ask({
        title: `Remove ${one.schedule}?`, text: "Jobs that it put stay.", act: "remove", danger: true,
        run: () => change(one, "rm", "removed"),
    });
    return html`<main>
        <div class="row heading"><h1>Schedules</h1>
            ${mayChange && html`<button onClick=${add}>add a schedule</button>`}</div>
        <${Failure} error=${error} />
        ${data && schedules.length === 0 && html`<${Empty}>There are no schedules. Try${" "}
            <code>weir schedule add nightly backups --cron '30 2 * * *'</code>.<//>`}
        ${schedules.length > 0 && html`<div class="panel scroll"><table class="list">
            <thead><tr><th>schedule</th><th>tube</th><th>when</th><th>next</th><th>last</th>
                <th class="number">jobs</th><th class="number">skipped</th>
                ${mayChange && html`<th><span class="hidden">actions</span></th>`}</tr></thead>
            <tbody>${schedules.map((one) => html`<tr key=${one.schedule}>
                <td>${one.schedule}</td>
                <td><a href=${address("tube", one.tube)}>${one.tube}</a></td>
                <td title=${MISSED[one.missed]}>${times(one)}
                    ${!one.overlap && html` <span class="state">no overlap</span>`}</td>
                <td>${one.problem ? html`<span class="state buried" title=${one.problem}>stopped</span> ${one.problem}`
                    : one.paused ? html`<span class="state paused">paused</span>`
                    : one.next_at ? html`<${Time} at=${one.next_at} now=${now} />` : "never"}</td>
                <td>${one.last_at && html`<a href=${address("job", one.last_id)}><${Time} at=${one.last_at}
                    now=${now} /></a>`} ${one.last_outcome && html`<span
                    class="state ${one.last_outcome === "done" ? "ready" : "buried"}"
                    title=${"at " + one.last_ended_at}>${one.last_outcome}</span>`}</td>
                <td class="number">${count(one.fired)}</td><td class="number">${count(one.skipped)}</td>
                ${mayChange && html`<td class="actions">
                    <button aria-label=${"Run " + one.schedule + " now"}
                        onClick=${() => change(one, "run", "put a job of")}>run now</button>
                    ${one.paused ? html`<button aria-label=${"Resume " + one.schedule}
                        onClick=${() => change(one, "resume", "resumed")}>resume</button>`
                    : html`<button aria-label=${"Pause " + one.schedule}
                        onClick=${() => change(one, "pause", "paused")}>pause</button>`}
                    <button class="danger" aria-label=${"Remove " + one.schedule}
                        onClick=${() => remove(one)}>remove</button></td>`}
            </tr>`)}</tbody></table></div>`}
    </main>`;
}
