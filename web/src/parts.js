// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// What several views are made of.

import { h } from "preact";
import { useEffect, useRef } from "preact/hooks";
import htm from "htm";
import { count, relative, time } from "./format.js";

export const html = htm.bind(h);

export const STATES = ["ready", "delayed", "reserved", "buried"];

export function State({ of }) {
    return html`<span class="state ${of}">${of}</span>`;
}

export function Time({ at, now }) {
    return html`<time datetime=${at} title=${time(at)}>${relative(at, now)}</time>`;
}

// In percent; undefined: nobody tells.
export function Progress({ of }) {
    return of !== undefined && html`<progress max="100" value=${of} aria-label="Progress"></progress> ${of} %`;
}

export function Failure({ error }) {
    return error && html`<p class="notice bad" role="alert">${error.message}</p>`;
}

export function Empty({ children }) {
    return html`<p class="empty">${children}</p>`;
}

// A question before something is done. question: {title, text, act, danger, run, fields} or null; fields is a function
// of what to draw, whose values run receives.
export function Question({ question, close }) {
    const dialog = useRef();
    useEffect(() => {
        if (question) dialog.current.showModal();
        else dialog.current.close();
    }, [question]);
    const submit = (event) => {
        event.preventDefault();
        const values = Object.fromEntries(new FormData(event.target));
        close();
        question.run(values);
    };
    return html`<dialog ref=${dialog} onClose=${close} aria-labelledby="question">
        ${question && html`<form onSubmit=${submit}>
            <h2 id="question">${question.title}</h2>
            ${question.text && html`<p>${question.text}</p>`}
            ${question.fields}
            <div class="row end">
                <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
                <button class=${question.danger ? "danger" : "main"}>${question.act}</button>
            </div>
        </form>`}
    </dialog>`;
}

// Asks what becomes of jobs that are ended. run receives the verdict.
export function ending(what, run) {
    return {
        title: `End ${what}?`, act: "end", danger: true, run: ({ verdict }) => run(verdict),
        text: "A program gets the signal TERM, then KILL. A job that succeeds all the same is done.",
        fields: html`<label>And then<select name="verdict" autofocus>
            <option value="bury">bury: set it aside until somebody kicks it</option>
            <option value="retry">retry: run it again, as after a failure</option>
            <option value="remove">remove: delete it for good</option></select></label>`,
    };
}

const WORDS = {
    "kicked": "made ready", "buried": "buried", "removed": "removed", "not found": "gone already",
    "canceled": "asked to end", "retried": "made ready",
    "reserved": "being run, left alone", "other state": "in another state, left alone",
    "unknown": "not known: a node did not answer",
};

// {kicked: 3, "not found": 1} as a sentence.
export function outcome(counts) {
    const parts = Object.entries(counts).map(([result, n]) => `${count(n)} ${WORDS[result] || result}`);
    return parts.length ? parts.join(", ") : "no job";
}
