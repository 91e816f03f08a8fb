// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import { change, get, segment } from "./api.js";
import { duration, dump, pretty, quote, short, size, time } from "./format.js";
import { address, useKeys, useReading } from "./live.js";
import { ending, Failure, html, outcome, Progress, State, Time } from "./parts.js";

function Body({ job }) {
    if (job.body_hidden) return html`<p class="notice">${job.body_hidden}</p>`;
    if (job.size === 0) return html`<p class="note">The body is empty.</p>`;
    const isText = job.encoding !== "base64";
    // Text nodes only: a body is never read as markup.
    return html`<pre class="body" tabindex="0" aria-label="Body">${isText ? pretty(job.body) : dump(job.body)}</pre>`;
}

const OUTCOMES = { done: "ready", retry: "delayed", buried: "buried", lost: "reserved", canceled: "buried" };

function ran(attempt) {
    const seconds = (Date.parse(attempt.ended_at) - Date.parse(attempt.started_at)) / 1000;
    return "ran " + (seconds < 60 ? short(seconds) + " s" : duration(seconds));
}

// Attempts that have ended, the last one first.
function History({ attempts, now }) {
    const latest = [...attempts].reverse();
    return html`<section class="panel history"><h2>Attempts</h2><ol>${latest.map((one) => html`
        <li key=${one.attempt}>
            <div class="row"><b>${one.attempt}</b>
                <span class="state ${OUTCOMES[one.outcome]}">${one.outcome}</span>
                <${Time} at=${one.ended_at} now=${now} />
                ${one.started_at && html`<span class="note">${ran(one)}</span>`}
                ${one.process && html`<span class="note">process ${one.process}</span>`}</div>
            <p>${one.reason}</p>
            ${one.tail && html`<pre>${one.encoding === "base64" ? dump(one.tail) : one.tail}</pre>`}
        </li>`)}</ol></section>`;
}

// The command that puts the same job again.
function command(job) {
    const options = [];
    if (job.priority !== 0) options.push("--priority=" + job.priority);
    if (job.ttr_ns !== 60e9) options.push("--ttr=" + job.ttr_ns / 1e9 + "s");
    for (const [header, value] of Object.entries(job.headers || {})) options.push("--header=" + quote(`${header}=${value}`));
    return ["weir put", ...options, quote(job.tube), quote(job.body)].join(" ");
}

export function Job({ name, seconds, stats, act, ask }) {
    const reading = useReading((signal) => get("jobs/" + segment(name), {}, signal), name, seconds);
    const job = reading.data;
    const now = Date.now();
    const back = () => { location.hash = job ? address("tube", job.tube) : address("overview"); };
    useKeys({ Backspace: back });
    if (!job) return html`<main><h1>Job ${name}</h1><${Failure} error=${reading.error} /></main>`;

    const run = (what, label, more = {}) => act(label, "job " + name, async () =>
        outcome(await change(what, [name], more, () => {})), what === "rm" ? back : reading.again);
    const end = () => ask(ending("job " + name, (verdict) => run("cancel", "end", { verdict })));
    const remove = () => ask({
        title: "Remove this job?", text: "It is gone for good.", act: "remove", danger: true,
        run: () => run("rm", "remove"),
    });
    const copy = () => act("copied", "the command", () => navigator.clipboard.writeText(command(job)));
    const rows = [
        ["tube", html`<a href=${address("tube", job.tube)}>${job.tube}</a>`],
        ["put", html`${time(job.created_at)} (<${Time} at=${job.created_at} now=${now} />)`],
        ["due", html`${time(job.run_at)} (<${Time} at=${job.run_at} now=${now} />)`],
        ["attempts", job.attempts], ["priority", job.priority], ["time to run", duration(job.ttr_ns / 1e9)],
        ["size", size(job.size)], ["key", job.key || ""], [job.state === "ended" ? "result" : "reason", job.reason],
        ["ended", job.ended_at ? html`${job.end}, ${time(job.ended_at)} (<${Time} at=${job.ended_at} now=${now} />)` : ""],
        [job.ended_at ? "ran for" : "runs for",
            job.started_at ? duration(((Date.parse(job.ended_at) || now) - Date.parse(job.started_at)) / 1000) : ""],
        ["process", job.process ? job.process + (job.process_lives === false ? ", gone" : "") : ""], ["asked to end", job.verdict || ""],
        ["progress", job.progress === undefined ? "" : html`<${Progress} of=${job.progress} />`],
        ...Object.entries(job.headers || {}),
    ].filter(([, value]) => value !== "");
    return html`<main>
        <div class="row heading"><h1>Job <span class="id">${name}</span> <${State} of=${job.state} /></h1>
            <div class="row">
                ${job.encoding === "utf-8" && !job.body_hidden && navigator.clipboard && html`
                    <button onClick=${copy}>copy as command</button>`}
                ${stats?.may_change && job.state === "reserved" && stats.broker !== "beanstalk" && html`
                    ${job.process_lives === false && html`<button onClick=${() => run("takeback", "take back")}>take back</button>`}
                    <button class="danger" onClick=${end}>end…</button>`}
                ${stats?.may_change && job.state !== "reserved" && html`
                    ${job.state === "buried" && html`<button onClick=${() => run("kick", "kick")}>kick</button>`}
                    ${job.state === "delayed" && stats.broker !== "beanstalk" && html`
                        <button onClick=${() => run("run", "run")}>run now</button>`}
                    ${["ready", "delayed"].includes(job.state) && html`<button onClick=${() => run("bury", "bury")}>bury</button>`}
                    <button class="danger" onClick=${remove}>remove</button>`}
            </div></div>
        <${Failure} error=${reading.error} />
        ${job.why && html`<section class="panel why"><h2>Why is it ${job.state}?</h2><p>${job.why.text}</p></section>`}
        <div class="columns">
            <section class="panel"><h2>Facts</h2><dl class="facts">${rows.map(([label, value]) => html`
                <dt>${label}</dt><dd>${value}</dd>`)}</dl></section>
            <section class="panel grow"><h2>Body</h2><${Body} job=${job} /></section>
        </div>
        ${job.history?.length > 0 && html`<${History} attempts=${job.history} now=${now} />`}
    </main>`;
}
