// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import { get } from "./api.js";
import { count, duration } from "./format.js";
import { useReading } from "./live.js";
import { Empty, Failure, html } from "./parts.js";

function binlog(node) {
    if (node.binlog === undefined) return "";
    return node.binlog ? count(node.binlog_files) + (node.binlog_files === 1 ? " file" : " files") : html`<span class="bad">off</span>`;
}

export function Nodes({ seconds }) {
    const { data, error } = useReading((signal) => get("nodes", {}, signal), "nodes", seconds);
    const nodes = data?.nodes || [];
    return html`<main>
        <div class="row heading"><h1>Servers</h1></div>
        <${Failure} error=${error} />
        ${data && nodes.length === 0 && html`
            <${Empty}>The jobs are in an SQLite store on this host: it has no servers.<//>`}
        ${nodes.length > 0 && html`<div class="panel scroll"><table class="list">
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
            </tr>`)}</tbody></table></div>`}
    </main>`;
}
