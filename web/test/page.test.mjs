// Copyright (c) 2026 the weir authors
// SPDX-License-Identifier: MIT

// The page in a real browser on a real server: node --test test/page.test.mjs, with WEIR the program, CHROMIUM the
// browser, JOBS how many jobs (2,000), SCREENSHOTS a folder for pictures.

import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const weir = process.env.WEIR;
const jobs = Number(process.env.JOBS || 2000);
const pictures = process.env.SCREENSHOTS || "";
const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const folder = mkdtempSync(join(tmpdir(), "weir-page-"));
const broker = "sqlite:" + join(folder, "jobs.db");
const env = { ...process.env, WEIR_BROKER: broker };
const servers = [];
const EVIL = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>';
let browser;
let place;
let worker;

function run(args, input) {
    return execFileSync(weir, args, { input: input ?? "", env, encoding: "utf8" });
}

function freePort() {
    return new Promise((resolve) => {
        const server = createServer().listen(0, "127.0.0.1", () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

// Starts a server on a free port. Returns its address.
function serve(...options) {
    const server = spawn(weir, ["serve", "--listen", "127.0.0.1:0", ...options],
        { env, stdio: ["ignore", "ignore", "pipe"] });
    servers.push(server);
    return new Promise((resolve, reject) => {
        let text = "";
        server.stderr.on("data", (data) => {
            text += data;
            const found = text.match(/http:\S+/);
            if (found) resolve(found[0]);
        });
        server.on("exit", () => reject(new Error("weir serve: " + text)));
    });
}

before(async () => {
    run(["put", "--lines", "mail"],
        Array.from({ length: jobs }, (_, i) => `{"user":${i},"template":"welcome"}\n`).join(""));
    run(["put", "--lines", "--delay", "2h", "webhooks"], "retry 1\nretry 2\nretry 3\n");
    run(["put", "evil"], EVIL);
    run(["put", "bytes"], Buffer.from([0, 255, 1, 2, 10]));
    run(["put", "--lines", "imports"], Array.from({ length: 60 }, (_, i) => `row ${i}\n`).join(""));
    spawnSync(weir, ["work", "--until-empty", "--attempts", "1", "imports", "--",
        "sh", "-c", "echo '<b>no</b> database' >&2; exit 7"], { env });
    assert.match(run(["stats", "--json", "imports"]), /"buried": ?60/);
    run(["put", "nightly/report"], "a tube with a slash");
    run(["schedule", "add", "digest", "mail", "--cron", "0 7 * * mon-fri", "--zone", "Europe/Berlin"]);
    run(["schedule", "add", "sync", "webhooks", "--every", "15m", "--no-overlap"]);
    run(["schedule", "pause", "sync"]);
    run(["put", "--lines", "thumbs"], "a.jpg\nb.jpg\n");
    worker = spawn(weir, ["work", "--jobs", "2", "thumbs", "--", "sh", "-c", "echo progress 40 >&3; exec sleep 3600"],
        { env, stdio: "ignore" });
    place = await serve();
    browser = await chromium.launch({
        executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox"],
    });
    if (pictures) mkdirSync(pictures, { recursive: true });
});

after(async () => {
    await browser?.close();
    worker?.kill("SIGKILL"); // Its programs end with it.
    for (const server of servers) {
        server.removeAllListeners("exit");
        server.kill();
    }
    rmSync(folder, { recursive: true });
});

// Opens the page; any error of its own, or a request elsewhere, fails the test.
async function open(t, hash = "#/", { at = place, expected = [], ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
    const page = await context.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
        const text = message.text();
        if (message.type() === "error" && !expected.some((one) => text.includes(one))) problems.push(text);
    });
    page.on("request", (request) => {
        if (!request.url().startsWith(new URL(at).origin)) problems.push("asked " + request.url());
    });
    t.after(async () => {
        await context.close();
        assert.deepEqual(problems, []);
    });
    await page.goto(at + hash);
    return page;
}

// The page's policy forbids what playwright would evaluate again and again.
async function until(check) {
    for (let i = 0; !await check(); i++) {
        assert.ok(i < 1500, "never: " + check);
        await new Promise((resolve) => { setTimeout(resolve, 20); });
    }
}

async function picture(page, name) {
    if (pictures) await page.screenshot({ path: join(pictures, name + ".png") });
}

// By the browser's own protocol: the page's policy refuses scripts of others.
async function judge(page, what) {
    await page.addScriptTag({ content: axe }).catch(() => page.evaluate(axe));
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    const bad = violations.filter((one) => ["serious", "critical"].includes(one.impact));
    assert.deepEqual(bad.map((one) => `${what}: ${one.id}: ${one.nodes[0].html}`), []);
}

for (const scheme of ["light", "dark"]) {
    test(`every view can be read by everybody, ${scheme}`, async (t) => {
        const options = { colorScheme: scheme, bypassCSP: true };
        const page = await open(t, "#/", options);
        await page.getByRole("link", { name: "imports" }).waitFor();
        await page.locator(".u-over").first().waitFor();
        await judge(page, "overview");
        await picture(page, "overview-" + scheme);
        await page.goto(place + "#/tube/imports");
        await page.getByText("row 0", { exact: true }).waitFor();
        await judge(page, "tube");
        await picture(page, "tube-" + scheme);
        await page.getByRole("link", { name: /^\d+$/ }).first().click();
        await page.getByText("Why is it buried?").waitFor();
        /* The program's last line is in the reason, and in its output. */
        await page.getByText("exit status 7: <b>no</b> database", { exact: true }).waitFor();
        await page.getByText("<b>no</b> database", { exact: true }).waitFor();
        await judge(page, "job");
        await picture(page, "job-" + scheme);
        await page.goto(place + "#/workers");
        await page.getByText("40 %").first().waitFor();
        await judge(page, "workers");
        await picture(page, "workers-" + scheme);
        await page.goto(place + "#/schedules");
        await page.getByText("0 7 * * mon-fri").waitFor();
        await judge(page, "schedules");
        await picture(page, "schedules-" + scheme);
        await page.keyboard.press("?");
        await page.getByRole("dialog").waitFor();
        await judge(page, "keys");
    });
}

test("the overview finds and sorts tubes, kicks and pauses", async (t) => {
    const page = await open(t);
    const names = page.locator(".list tbody tr td:first-child a");
    await page.getByRole("link", { name: "mail" }).waitFor();
    assert.deepEqual(await names.allTextContents(), ["bytes", "evil", "imports", "mail", "nightly/report", "thumbs",
        "webhooks"]);
    await page.getByRole("button", { name: "ready" }).click();
    assert.equal(await names.first().textContent(), "mail");
    await page.getByRole("searchbox").fill("web");
    assert.deepEqual(await names.allTextContents(), ["webhooks"]);
    await page.getByRole("button", { name: "Pause webhooks" }).click();
    await page.getByRole("button", { name: "Resume webhooks" }).click();
    await page.getByRole("button", { name: "Pause webhooks" }).waitFor();
    await page.getByRole("searchbox").fill("imports");
    await page.getByRole("button", { name: "Kick the buried jobs of imports" }).click();
    await page.getByText("kicked imports: done").waitFor();
    assert.match(run(["stats", "--json", "imports"]), /"ready": ?60/);
    await page.getByRole("button", { name: "1 h", exact: true }).click();
    await page.getByRole("button", { name: "1 h", exact: true, pressed: true }).waitFor();
});

test("chosen jobs are buried, kicked and removed, and so are all that match", async (t) => {
    const page = await open(t, "#/tube/imports");
    await page.getByRole("checkbox", { name: "Choose job" }).nth(0).check();
    await page.getByRole("checkbox", { name: "Choose job" }).nth(1).check();
    await page.getByText("2 chosen:").waitFor();
    await page.getByRole("button", { name: "bury", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "bury" }).click();
    await page.getByText("bury 2 jobs: 2 buried").waitFor();
    await page.getByRole("link", { name: "buried 2" }).click();
    await page.getByRole("button", { name: "kick all" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "kick" }).click();
    await page.getByText("kick all that match: 2 made ready").waitFor();
    await page.getByRole("link", { name: "all 60" }).click();
    await page.getByRole("searchbox").fill("row 1");
    await page.getByRole("searchbox").press("Enter");
    await until(async () => await page.locator(".list tbody tr").count() === 11);
    await page.getByRole("button", { name: "remove all" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
    assert.match(run(["stats", "--json", "imports"]), /"ready": ?60/);
    await page.getByRole("button", { name: "remove all" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "remove" }).click();
    await page.getByText("remove all that match: 11 removed").waitFor();
    assert.match(run(["stats", "--json", "imports"]), /"ready": ?49/);
});

test("jobs come in pages, by state", async (t) => {
    const page = await open(t, "#/tube/mail?state=ready");
    const first = page.locator(".list tbody tr a.id").first();
    await first.waitFor();
    const id = await first.textContent();
    await page.getByRole("button", { name: "next →" }).click();
    await until(async () => await first.textContent() !== id);
    await page.getByRole("button", { name: "← previous" }).click();
    await until(async () => await first.textContent() === id);
    await page.getByRole("link", { name: "buried 0" }).click();
    await page.getByText("No job is buried.").waitFor();
});

test("a job is put, looked at, and removed", async (t) => {
    const page = await open(t, "#/tube/nightly%2Freport", { expected: ["400"] });
    await page.getByRole("button", { name: "put a job" }).click();
    await page.getByRole("textbox", { name: "Body" }).fill('{"from":"the page"}');
    await page.getByRole("textbox", { name: "Delay" }).fill("1h");
    await page.getByRole("textbox", { name: "Priority" }).fill("3");
    await page.getByRole("dialog").getByRole("button", { name: "put" }).click();
    await page.getByText(/^put nightly\/report: job \d+/).waitFor();
    await page.getByRole("link", { name: "delayed 1" }).click();
    await until(async () => (await page.locator(".list tbody tr a.id").count()) === 1); // of all its jobs before
    await page.locator(".list tbody tr a.id").click();
    await page.getByText('"from": "the page"').waitFor();
    await page.getByText(/^not before/).or(page.locator(".why p")).first().waitFor();
    await page.getByRole("button", { name: "bury" }).click();
    await page.getByText(/1 buried/).waitFor();
    await page.getByRole("button", { name: "kick" }).click();
    await page.getByText(/1 made ready/).waitFor();
    await page.getByRole("button", { name: "remove" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "remove" }).click();
    await page.waitForURL(/#\/tube\/nightly%2Freport$/);
    await page.getByRole("button", { name: "put a job" }).click();
    await page.getByRole("textbox", { name: "Delay" }).fill("soon");
    await page.getByRole("dialog").getByRole("button", { name: "put" }).click();
    await page.getByText(/put nightly\/report: .*delay/).waitFor();
});

test("a job that runs is ended, and what becomes of it is chosen", async (t) => {
    run(["put", "--ttr", "1h", "hung"], "x");
    const hung = spawn(weir, ["work", "hung", "--", "sleep", "3600"], { env, stdio: "ignore" });
    t.after(() => hung.kill("SIGKILL"));
    const id = () => JSON.parse(run(["ls", "--json", "hung"]).split("\n")[0] || "{}").id;
    while (!/"reserved": ?1/.test(run(["stats", "--json", "hung"])));
    const page = await open(t, `#/job/${id()}`);
    await page.getByRole("button", { name: "end…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("And then").selectOption("bury");
    await dialog.getByRole("button", { name: "end", exact: true }).click();
    await page.getByText("1 asked to end").waitFor();
    while (!/"buried": ?1/.test(run(["stats", "--json", "hung"])));
    await page.reload();
    await page.getByRole("button", { name: "kick" }).waitFor();
    await page.goto(place + "#/tube/hung");
    await page.getByRole("button", { name: "end all" }).waitFor();
    const later = run(["put", "--delay", "9h", "hung", "y"]).trim();
    await page.goto(place + `#/job/${later}`);
    await page.getByRole("button", { name: "run now" }).click();
    await page.getByText("1 made ready").waitFor();
});

test("jobs that have ended are shown with their attempts, and removed", async (t) => {
    run(["policy", "done", "--archive", "yes"]);
    run(["put", "done", "a letter"]);
    run(["work", "-e", "done", "--", "true"]);
    const page = await open(t, "#/tube/done", { bypassCSP: true, expected: ["404"] }); // no samples of it yet
    await page.getByRole("link", { name: "ended" }).click();
    await page.getByText("a letter").waitFor();
    await judge(page, "ended");
    if (pictures) await picture(page, "ended");
    await page.locator(".list tbody tr a").first().click();
    await page.getByText("Why is it ended?").waitFor();
    await page.getByText("it is done, after run 1").waitFor();
    await page.locator(".state.ready", { hasText: "done" }).waitFor();
    assert.equal(await page.getByRole("button", { name: "bury", exact: true }).count(), 0);
    await page.goBack();
    await page.getByRole("button", { name: "remove all" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "remove" }).click();
    await page.getByText("No job is ended.").waitFor();
});

test("a tube is paused for a time, and resumed", async (t) => {
    const page = await open(t, "#/tube/webhooks");
    await page.getByRole("button", { name: "pause" }).click();
    await page.getByLabel("For how long").fill("30m");
    await page.getByRole("dialog").getByRole("button", { name: "pause" }).click();
    await page.getByText(/it resumes\s+in/).waitFor();
    await page.getByRole("button", { name: "resume" }).click();
    await page.getByRole("button", { name: "pause" }).waitFor();
});

test("a schedule is added, run, paused, resumed and removed", async (t) => {
    const page = await open(t, "#/schedules", { expected: ["400"] });
    const add = async (values) => {
        await page.getByRole("button", { name: "add a schedule" }).click();
        for (const [label, value] of Object.entries(values)) {
            await page.getByRole("dialog").getByRole("textbox", { name: label, exact: true }).fill(value);
        }
        await page.getByRole("dialog").getByRole("combobox", { name: "Overlap" }).selectOption("no");
        await page.getByRole("dialog").getByRole("button", { name: "add" }).click();
    };
    await add({ Name: "poll", Tube: "feeds", "Or every": "10m", Body: "from the page" });
    await page.getByText("added poll: done").waitFor();
    await page.getByRole("cell", { name: "every 10 min no overlap" }).waitFor();
    await add({ Name: "bad", Tube: "feeds", "Cron expression": "61 * * * *" });
    await page.getByText(/added bad: .*minute "61"/).waitFor();
    await page.getByRole("button", { name: "Run poll now" }).click();
    await page.getByText("put a job of poll: done").waitFor();
    assert.match(run(["ls", "--next", "--json", "--body", "feeds"]), /"body": ?"from the page"/);
    await page.getByRole("button", { name: "Pause poll" }).click();
    await page.getByRole("button", { name: "Resume poll" }).click();
    await page.getByRole("button", { name: "Pause poll" }).waitFor();
    await page.getByRole("button", { name: "Remove poll" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "remove" }).click();
    await page.getByRole("button", { name: "Remove poll" }).waitFor({ state: "detached" });
    assert.equal(run(["schedule", "ls", "--json"]).includes("poll"), false);
});

test("a body is text, whatever it says", async (t) => {
    const page = await open(t, "#/tube/evil");
    await page.getByText("<img src=x").waitFor();
    await page.locator(".list tbody tr a.id").click();
    await page.locator("pre.body").waitFor();
    assert.equal(await page.locator("pre.body").textContent(), EVIL);
    assert.equal(await page.locator("pre.body *").count(), 0);
    assert.doesNotMatch(await page.title(), /owned/);
    await page.goto(place + "#/tube/bytes");
    await page.locator(".list tbody tr a.id").click();
    await page.getByText("00 ff 01 02 0a").waitFor();
});

test("JSON is indented, and every number is as it was put", async (t) => {
    run(["put", "exact"], '{"id":12345678901234567890,"price":1.10}');
    const page = await open(t, "#/tube/exact", { expected: ["404"] }); // no samples of it yet
    await page.locator(".list tbody tr a.id").click();
    await page.locator("pre.body").waitFor();
    assert.equal(await page.locator("pre.body").textContent(),
        '{\n  "id": 12345678901234567890,\n  "price": 1.10\n}');
});

test("a search that takes long says how far it has come, and goes on from there", async (t) => {
    const page = await open(t);
    await page.route((url) => url.searchParams.get("text") === "rare" && !url.searchParams.has("after"),
        (route) => route.fulfill({ json: { jobs: [], next: "41" } }));
    await page.goto(place + "#/tube/imports?text=rare");
    await page.getByText("No job matches so far.").waitFor();
    await page.getByText(/jobs up to number 41:/).waitFor();
    const [request] = await Promise.all([page.waitForRequest(/after=41/), page.getByRole("button", { name: "next" }).click()]);
    assert.equal(new URL(request.url()).searchParams.get("text"), "rare");
    await page.getByText("No job matches.").waitFor();
});

test("keys lead through the page", async (t) => {
    const page = await open(t);
    await page.getByRole("link", { name: "mail" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("imports");
    await page.keyboard.press("Tab");
    await page.locator("body").click({ position: { x: 5, y: 400 } });
    await page.keyboard.press("j");
    await page.locator("tr.chosen").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/tube\/imports/);
    await page.locator(".list tbody input").first().waitFor(); // jobs: the overview has a list as well
    await page.keyboard.press("j");
    await page.locator("tr.chosen").waitFor();
    await page.keyboard.press("x");
    await page.getByText("1 chosen:").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/job\//);
    await page.locator("pre.body").waitFor();
    await page.keyboard.press("Backspace");
    await page.waitForURL(/#\/tube\/imports/);
    await page.keyboard.press("t");
    await until(() => page.evaluate(() => document.documentElement.dataset.theme === "light"));
    await page.keyboard.press("o");
    await page.waitForURL(/#\/$/);
});

test("it reads again, and not while it cannot be seen or was told to stop", async (t) => {
    const page = await open(t);
    await page.getByLabel("Refresh").selectOption("1");
    let count = 0;
    page.on("request", () => count++);
    await page.waitForRequest(/api\/v1\/tubes$/);
    await page.waitForRequest(/api\/v1\/tubes$/);
    assert.ok(count > 1);
    const hide = (hidden) => page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { value, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
    await hide(true);
    await page.waitForTimeout(300); // What was under way is over then.
    count = 0;
    await page.waitForTimeout(2500);
    assert.equal(count, 0);
    await hide(false);
    await page.waitForRequest(/api\/v1\/tubes$/);
    await page.keyboard.press("p");
    await page.waitForTimeout(300);
    count = 0;
    await page.waitForTimeout(2500);
    assert.equal(count, 0);
});

test("what goes wrong is told", async (t) => {
    const page = await open(t, "#/job/999999", { expected: ["404"] });
    await page.getByRole("alert").getByText(/no such job|not found/i).waitFor();
    const gone = await serve();
    const other = await open(t, "#/", { at: gone, expected: ["ERR_"] });
    await other.getByRole("link", { name: "mail" }).waitFor();
    servers.at(-1).removeAllListeners("exit");
    servers.at(-1).kill();
    await other.getByText("The server does not answer").first().waitFor();
    await other.getByRole("link", { name: "mail" }).waitFor();
});

test("a server with a token asks for it", async (t) => {
    writeFileSync(join(folder, "token"), "a-token-of-some-length\n", { mode: 0o600 });
    const at = await serve("--token-file", join(folder, "token"));
    const page = await open(t, "#/", { at, expected: ["401"] });
    await page.getByLabel("Token").fill("wrong, but long enough");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByLabel("Token").fill("a-token-of-some-length");
    await page.getByRole("button", { name: "Go on" }).click();
    await page.getByRole("link", { name: "mail" }).waitFor();
});

test("a read-only server is shown without buttons that change, and hidden bodies as such", async (t) => {
    const at = await serve("--read-only", "--hide-bodies", "--prefix", "/behind/proxy");
    const page = await open(t, "#/tube/imports", { at: new URL("/behind/proxy/", at).href });
    await page.getByText("read-only").waitFor();
    await page.getByText("(hidden)").first().waitFor();
    assert.equal(await page.getByRole("button", { name: /kick|bury|remove|pause|put/ }).count(), 0);
    assert.equal(await page.getByRole("checkbox").count(), 0);
});

test("a cluster shows its servers, and of a tube what beanstalkd tells", async (t) => {
    const port = await freePort();
    const node = spawn("beanstalkd", ["-l", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
    const failed = new Promise((resolve) => { node.on("error", resolve); });
    t.after(() => node.kill());
    if (await Promise.race([failed, new Promise((resolve) => { node.on("spawn", () => resolve(null)); })])) {
        t.skip("beanstalkd is not installed");
        return;
    }
    const url = `beanstalk://127.0.0.1:${port}/?replicas=1`;
    await until(() => spawnSync(weir, ["put", "--broker", url, "mail", "hello"]).status === 0);
    const at = await serve("--broker", url);
    const page = await open(t, "#/tube/mail", { at });
    await page.getByText("hello").waitFor();
    await page.getByText("beanstalkd shows the first job").waitFor();
    await page.getByRole("checkbox", { name: "Choose job" }).first().check();
    await page.getByRole("button", { name: "bury", exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "bury" }).click();
    await page.getByText("bury 1 job: 1 buried").waitFor();
    await page.getByRole("link", { name: "Servers" }).click();
    await page.getByText("127.0.0.1:" + port).waitFor();
    await page.getByText("up", { exact: true }).waitFor();
});

test("it fits a narrow screen", async (t) => {
    const page = await open(t, "#/", { viewport: { width: 390, height: 800 } });
    await page.getByRole("link", { name: "mail" }).waitFor();
    // What is wider than the screen and does not scroll by itself.
    const wide = () => page.evaluate(() => [...document.querySelectorAll("body *")]
        .filter((one) => !one.closest(".scroll table") && one.getBoundingClientRect().right > innerWidth + 1)
        .map((one) => one.outerHTML.slice(0, 80)));
    assert.deepEqual(await wide(), []);
    await picture(page, "overview-narrow");
    await page.goto(place + "#/tube/imports");
    await page.locator(".list tbody tr").first().waitFor();
    assert.deepEqual(await wide(), []);
    await picture(page, "tube-narrow");
});

test("it is small, compressed and kept", async (t) => {
    let all = 0;
    for (const name of ["", "page.js", "page.css", "icon.svg"]) {
        const plain = await fetch(place + name, { headers: { "Accept-Encoding": "identity" } });
        const bytes = Buffer.from(await plain.arrayBuffer());
        assert.equal(plain.headers.get("content-encoding"), null);
        const packed = await fetch(place + name);
        assert.equal(packed.headers.get("content-encoding"), "gzip");
        all += Number(packed.headers.get("content-length"));
        assert.deepEqual(Buffer.from(await packed.arrayBuffer()), bytes);
        const again = await fetch(place + name, { headers: { "If-None-Match": packed.headers.get("etag") } });
        assert.equal(again.status, 304);
        const refused = await fetch(place + name, { headers: { "Accept-Encoding": "gzip;q=0" } });
        assert.equal(refused.headers.get("content-encoding"), null);
        assert.ok(gzipSync(bytes).length > 0);
    }
    assert.ok(all <= 60000, all + " bytes");
    const page = await open(t);
    await page.getByRole("link", { name: "mail" }).waitFor();
    const ms = await page.evaluate(() => performance.getEntriesByType("resource")
        .filter((one) => one.name.endsWith("api/v1/tubes"))[0].responseEnd);
    t.diagnostic(`${all} bytes compressed; first data ${ms.toFixed(0)} ms after the request of the page`);
});
