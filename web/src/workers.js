// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import { change, get } from "./api.js";
import { count, duration } from "./format.js";
import { address, useReading } from "./live.js";
import { Empty, ending, Failure, html, outcome, Progress, Time } from "./parts.js";

function binlog(node) {
    if (node.binlog === undefined) return "";
    return node.binlog ? count(node.binlog_files) + (node.binlog_files === 1 ? " file" : " files") : html`<span class="bad">off</span>`;
}

function Nodes({ nodes }) {
    return html`<div class="panel scroll"><table class="list">
        <thead><tr><th>server</th><th>kind</th><th>state</th><th class="number">answered in</th><th>binlog</th>
            <th class="number">ready</th><th class="number">delayed</th><th class="number">running</th>
            <th class="number">buried</th><th class="number">connections</th><th>up for</th><th>version</th>
        </tr></thead>
        <tbody>${nodes.map((node) => html`<tr key=${node.node}>
            <td class="id">${node.node}</td><td>${node.kind}</td>
            <td><span class="state ${node.state}">${node.state}</span> ${node.why || ""}</td>
            <td class="number">${node.answer_ns ? (node.answer_ns / 1e6).toFixed(1) + " ms" : ""}</td>
            <td>${binlog(node)}</td>
            ${["ready", "delayed", "reserved", "buried", "connections"].map((one) => html`
                <td class="number">${node[one] === undefined ? "" : count(node[one])}</td>`)}
            <td>${node.uptime_ns ? duration(node.uptime_ns / 1e9) : ""}</td><td>${node.version || ""}</td>
        </tr>`)}</tbody></table></div>`;
}

// The servers of a cluster. Which worker has a job, beanstalkd does not tell.
function Cluster({ seconds }) {
    const { data, error } = useReading((signal) => get("nodes", {}, signal), "nodes", seconds);
    return html`<main>
        <div class="row heading"><h1>Servers</h1></div>
        <${Failure} error=${error} />
        ${data && html`<${Nodes} nodes=${data.nodes} />
            <p class="note">Servers of a cluster do not tell which worker has a job.</p>`}
    </main>`;
}

function Processes({ processes, now, end, takeBack }) {
    return html`<div class="panel scroll"><table class="list">
        <thead><tr><th>process</th><th>job</th><th>tube</th><th class="number">attempt</th><th>runs for</th>
            <th>progress</th><th>reservation ends</th>${end && html`<th></th>`}</tr></thead>
        <tbody>${processes.flatMap(({ process, jobs }) => jobs.map((job, i) => html`<tr key=${job.id}>
            <td>${i === 0 && html`<b class="id">${process || "not known"}${job.process_lives === false && ", gone"}</b>${jobs.length > 1 && html`
                <span class="note"> ${count(jobs.length)} jobs</span>`}${job.process_lives === false && end && html`
                <button onClick=${() => takeBack(process, jobs)}>take back</button>`}`}</td>
            <td><a href=${address("job", job.id)} class="id">${job.id}</a></td>
            <td><a href=${address("tube", job.tube)}>${job.tube}</a></td>
            <td class="number">${job.attempts}</td>
            <td>${job.started_at && duration((now - Date.parse(job.started_at)) / 1000)}</td>
            <td><${Progress} of=${job.progress} /></td>
            <td>${job.reserved_until && html`<${Time} at=${job.reserved_until} now=${now} />`}</td>
            ${end && html`<td>${job.verdict ? html`<span class="note">asked to end</span>`
        : html`<button class="danger" onClick=${() => end(job)}>end…</button>`}</td>`}
        </tr>`))}</tbody></table></div>`;
}

function Store({ seconds, stats, act, ask }) {
    const { data, error, again } = useReading((signal) => get("workers", {}, signal), "workers", seconds);
    const end = (job) => ask(ending("job " + job.id, (verdict) => act("end", "job " + job.id, async () =>
        outcome(await change("cancel", [job.id], { verdict }, () => {})), again)));
    const takeBack = (process, jobs) => act("take back", "jobs of process " + process, async () =>
        outcome(await change("takeback", jobs.map((job) => job.id), {}, () => {})), again);
    return html`<main>
        <div class="row heading"><h1>Workers</h1></div>
        <${Failure} error=${error} />
        ${data && data.processes.length === 0 && html`<${Empty}>No job is being run.<//>`}
        ${data?.processes.length > 0 && html`<${Processes} processes=${data.processes} now=${Date.now()}
            end=${stats.may_change && end} takeBack=${takeBack} />`}
        ${data?.more && html`<p class="note">There are more than 1,000; these are some of them.</p>`}
    </main>`;
}

export function Workers({ seconds, stats, act, ask }) {
    if (!stats) return html`<main></main>`;
    return stats.broker === "beanstalk" ? html`<${Cluster} seconds=${seconds} />`
        : html`<${Store} seconds=${seconds} stats=${stats} act=${act} ask=${ask} />`;
}
