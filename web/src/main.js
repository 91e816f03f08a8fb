// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import { render } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, setToken } from "./api.js";
import { Job } from "./job.js";
import { address, useAddress, useKeys, useReading, useSetting } from "./live.js";
import { Overview } from "./overview.js";
import { Failure, html, Question } from "./parts.js";
import { Schedules } from "./schedules.js";
import { Tube } from "./tube.js";
import { Workers } from "./workers.js";

const REFRESH = [["1", "1 s"], ["2", "2 s"], ["5", "5 s"], ["30", "30 s"], ["0", "off"]];
const THEMES = ["auto", "light", "dark"];
const KEYS = [["/", "search"], ["j, k", "next and previous row"], ["Enter", "open the row"], ["x", "choose the job"],
    ["Backspace", "from a job to its tube"], ["o", "overview"], ["w", "workers"], ["r", "read now"], ["p", "stop or go on refreshing"],
    ["t", "light, dark or as the system has it"], ["?", "these keys"]];

function Help({ close }) {
    const dialog = useRef();
    useEffect(() => dialog.current.showModal(), []);
    return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="keys"><h2 id="keys">Keys</h2>
        <dl class="facts">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
        <div class="row end"><button onClick=${() => dialog.current.close()} autofocus>Close</button></div></dialog>`;
}

function Token({ done }) {
    const submit = (event) => {
        event.preventDefault();
        setToken(new FormData(event.target).get("token").trim());
        done();
    };
    return html`<main class="narrow"><form class="panel" onSubmit=${submit}><h1>This server asks for a token</h1>
        <p>It is in the file that <code>weir serve --token-file</code> names. The page keeps it until this tab is
            closed.</p>
        <label>Token<input name="token" type="password" autocomplete="current-password" required autofocus /></label>
        <div class="row end"><button class="main">Go on</button></div></form></main>`;
}

// What was done, and how it ended: one line, until the next.
function Said({ said, close }) {
    return html`<div class="said" role="status" aria-live="polite">${said && html`
        <p class="notice ${said.bad ? "bad" : ""}">${said.text}
        <button class="plain" onClick=${close} aria-label="Close this notice">×</button></p>`}</div>`;
}

function Page() {
    const { view, name, fields } = useAddress();
    const [refresh, setRefresh] = useSetting("refresh", "2");
    const [theme, setTheme] = useSetting("theme", "auto");
    const [help, setHelp] = useState(false);
    const [question, setQuestion] = useState(null);
    const [said, setSaid] = useState(null);
    const [turn, setTurn] = useState(0);
    const before = useRef("2");
    const seconds = Number(refresh);
    const stats = useReading((signal) => get("stats", {}, signal), "stats" + turn, seconds);

    useEffect(() => {
        document.documentElement.dataset.theme = theme;
    }, [theme]);
    useEffect(() => {
        document.title = (name ? name + " · " : view === "overview" ? "" : view + " · ") + "weir";
        setSaid(null);
    }, [view, name]);
    useKeys({
        "?": () => setHelp(true),
        o: () => { location.hash = address("overview"); },
        w: () => { location.hash = address("workers"); },
        r: () => setTurn((n) => n + 1),
        t: () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]),
        p: () => {
            if (refresh !== "0") before.current = refresh;
            setRefresh(refresh === "0" ? before.current : "0");
        },
    });

    // Does something, says how it ended, then reads again. work may return a text, and tells how far it is.
    const act = useCallback(async (what, subject, work, then) => {
        const tell = (text) => setSaid({ text: `${what} ${subject}: ${text}` });
        tell("…");
        try {
            const text = await work(tell);
            tell(typeof text === "string" ? text : "done");
        } catch (error) {
            setSaid({ bad: true, text: `${what} ${subject}: ${error.message}` });
        }
        if (then) then();
    }, []);

    if (stats.error?.status === 401) return html`<${Token} done=${() => setTurn((n) => n + 1)} />`;
    const View = { tube: Tube, job: Job, workers: Workers, schedules: Schedules }[view] || Overview;
    const isCluster = stats.data?.broker === "beanstalk";
    return html`
        <header><a class="brand" href="#/"><img src="icon.svg" alt="" width="22" height="22" />weir</a>
            <nav aria-label="Views"><a href="#/" aria-current=${View === Overview ? "page" : null}>Overview</a>
                ${stats.data && !isCluster && html`<a href="#/schedules"
                    aria-current=${View === Schedules ? "page" : null}>Schedules</a>`}
                <a href="#/workers" aria-current=${View === Workers ? "page" : null}>${isCluster ? "Servers" : "Workers"}</a></nav>
            <span class="grow"></span>
            ${stats.data && !stats.data.may_change && html`<span class="state">read-only</span>`}
            <label class="picker">Refresh <select value=${refresh}
                onChange=${(event) => setRefresh(event.target.value)}>
                ${REFRESH.map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select></label>
            <label class="picker">Theme <select value=${theme} onChange=${(event) => setTheme(event.target.value)}>
                ${THEMES.map((one) => html`<option>${one}</option>`)}</select></label>
            <button onClick=${() => setHelp(true)} aria-label="Keys">?</button></header>
        <${Said} said=${said} close=${() => setSaid(null)} />
        ${!stats.data && html`<${Failure} error=${stats.error} />`}
        <${View} key=${view + "/" + name + turn} name=${name} fields=${fields} seconds=${seconds} stats=${stats.data}
            act=${act} ask=${setQuestion} theme=${theme} />
        <footer>${stats.data && html`weir ${stats.data.version} ·${" "}
            ${isCluster ? "beanstalkd cluster; counts are of copies" : "SQLite store"} ·${" "}
            <a href="api/v1/openapi.json">API</a> · <a href="metrics">metrics</a>`}</footer>
        <${Question} question=${question} close=${() => setQuestion(null)} />
        ${help && html`<${Help} close=${() => setHelp(false)} />`}`;
}

render(html`<${Page} />`, document.getElementById("page"));
