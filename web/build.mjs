// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// Bundles the page: node build.mjs FOLDER. The same sources and package-lock.json give the same bytes.

import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const out = process.argv[2];
mkdirSync(out, { recursive: true });
await build({
    entryPoints: ["src/main.js"], outfile: out + "/page.js", bundle: true, minify: true, format: "esm",
    target: "es2022", legalComments: "none", charset: "utf8",
    banner: { js: "/* weir, MIT. With Preact (MIT), htm (Apache-2.0) and uPlot (MIT). Sources: web/ */" },
});
const plot = readFileSync("node_modules/uplot/dist/uPlot.min.css", "utf8");
const own = readFileSync("src/page.css", "utf8");
writeFileSync("node_modules/.page.css", plot + "\n" + own);
await build({ entryPoints: ["node_modules/.page.css"], outfile: out + "/page.css", minify: true, legalComments: "none" });
copyFileSync("src/page.html", out + "/page.html");
copyFileSync("src/icon.svg", out + "/icon.svg");
