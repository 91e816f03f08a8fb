// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { html } from "./parts.js";
import { short } from "./format.js";

// A time of day of the browser's zone, to the minute where that tells all of a step apart.
function clock(second, step) {
    return new Date(second * 1000).toTimeString().slice(0, step % 60 === 0 ? 5 : 8);
}

// A plot of columns over time. lines: [{label, color, values}], color: a custom property of the style sheet. The table
// beneath it for screen readers is the last value of each line.
export function Plot({ title, at, lines, unit = "", theme }) {
    const place = useRef();
    const plot = useRef();
    const labels = lines.map((line) => line.label).join();
    const format = (value) => (value == null ? "–" : short(value) + unit);

    useEffect(() => {
        const style = getComputedStyle(place.current);
        const color = (name) => style.getPropertyValue(name).trim();
        const axis = {
            stroke: color("--muted"), font: "11px " + color("--sans"),
            grid: { stroke: color("--grid"), width: 1 }, ticks: { show: false },
        };
        const options = {
            width: place.current.clientWidth, height: 190, cursor: { points: { size: 6 } },
            scales: { y: { range: (_, low, high) => [0, Math.max(high * 1.08, 1)] } },
            axes: [{ ...axis, space: 70, size: 30,
                values: (_, all) => all.map((second) => clock(second, all[1] - all[0])) },
                { ...axis, size: 52, values: (_, all) => all.map((value) => short(value) + unit) }],
            series: [{ label: "at", value: (_, second) => (second == null ? "" : clock(second, 1)) },
                ...lines.map((line) => ({
                    label: line.label, stroke: color(line.color), width: 1.6, points: { show: false },
                    fill: line.fill ? color(line.color) + "22" : undefined, value: (_, value) => format(value),
                }))],
        };
        plot.current = new uPlot(options, [at, ...lines.map((line) => line.values)], place.current);
        const observer = new ResizeObserver(() => {
            plot.current.setSize({ width: place.current.clientWidth, height: 190 });
        });
        observer.observe(place.current);
        return () => {
            observer.disconnect();
            plot.current.destroy();
        };
    }, [labels, theme, unit]);

    useEffect(() => {
        plot.current.setData([at, ...lines.map((line) => line.values)]);
    }, [at]);

    const last = lines.map((line) => `${line.label} ${format(line.values.at(-1))}`).join(", ");
    return html`<figure class="panel plot">
        <figcaption>${title}</figcaption>
        <div ref=${place} role="img" aria-label="${title}; latest: ${last}"></div>
    </figure>`;
}
