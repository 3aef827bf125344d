// SPDX-License-Identifier: Apache-2.0
// The page of `rdmameter report` in a real Chromium: nothing goes wrong on the console, nothing is
// fetched, and what people click does what it says.
// Usage: report_browser_test.mjs RDMAMETER WRITE_SAMPLES NODE_MODULES [SCREENSHOTS]
// SCREENSHOTS: a directory for pictures of the page. Status 77: there is no Chromium.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [program, writeSamples, modules, screenshots] = process.argv.slice(2);
const chromiumPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const needs = [[chromiumPath, "chromium is not installed"],
  [existsSync(join(modules, "playwright-core")), "playwright-core is not installed: tools/install-npm test"],
  [existsSync(join(modules, "echarts")), "ECharts is not installed: tools/install-npm"]];
for (const [there, reason] of needs)
  if (!there) {
    console.log(`skipped: ${reason}`);
    process.exit(77);
  }
const kPatience = 30_000; // of a step [ms]
const { chromium } = createRequire(join(modules, "x"))("playwright-core");

const scratch = mkdtempSync(join(tmpdir(), "rdmameter-test-"));
const pathOf = (name) => join(scratch, name);
const urlOf = (name, fragment = "") => pathToFileURL(pathOf(name)).href + fragment;
const report = (name, ...args) => execFileSync(program, ["report", ...args, "-o", pathOf(name)]);
const load = (name) => JSON.parse(readFileSync(pathOf(name), "utf8"));
const save = (name, value) => writeFileSync(pathOf(name), JSON.stringify(value));

/** As many cases, of several sizes, depths and QPs, each like one of the samples. */
function manyCases(base, count) {
  const kinds = ["send_lat", "write_bw"].map((test) => base.benchmarks.filter((row) => row.name.startsWith(`${test}/rc`)));
  const benchmarks = [];
  for (let i = 0; i < count; i++) {
    const size = 2 ** (i % 20), qps = 2 ** (Math.floor(i / 20) % 10), depth = 2 ** Math.floor(i / 200);
    const rows = kinds[i % 2].slice(0, 2);
    for (const row of rows) {
      const name = `${row.name.split("/")[0]}/rc/size:${size}/qps:${qps}/depth:${depth}`;
      benchmarks.push({ ...row, name, run_name: name, case: { ...row.case, size_bytes: size, qps, depth } });
    }
  }
  return { ...base, benchmarks };
}

const problems = [];
function watch(page) {
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => request.url().startsWith("file:") || request.url().startsWith("data:") || problems.push(request.url()));
  return page;
}

const strokes = (page, figure) => page.$$eval(`#${figure} .plot svg path[stroke-width="2"]`, (paths) => paths.map((path) => path.getAttribute("stroke")));
const chosen = (page) => page.$$eval("#chosen button", (buttons) => buttons.map((button) => button.textContent));
/** Figures are drawn when they come into view. */
async function shown(page, figure) {
  await page.$eval(`#${figure}`, (element) => element.scrollIntoView());
  await page.waitForSelector(`#${figure} svg`);
}
const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

async function picture(page, name) {
  if (screenshots) await page.screenshot({ path: join(screenshots, name), fullPage: name.includes("whole") });
}

const tests = {
  async "opens with its charts drawn, and nothing on the console"(page) {
    await page.goto(urlOf("report.html"));
    await shown(page, "percentiles");
    assert.ok((await strokes(page, "percentiles")).length > 0);
    await shown(page, "distribution");
    await shown(page, "rates");
    await shown(page, "latencies");
  },

  async "draws latency over load, and says where it bends"(page) {
    await page.goto(urlOf("sweep.html"));
    await shown(page, "load-curve");
    const legend = await page.$$eval("#load-curve .legend button", (buttons) => buttons.map((button) => button.textContent));
    assert.deepEqual(legend, ["p50", "p99", "saturation", "rate within SLO", "SLO"]);
    assert.equal(new Set(await strokes(page, "load-curve")).size, 5); // two lines, three marks
    assert.equal(await page.textContent("#load-found"), "Saturation: 1 k/s. p99 is within 10 µs up to 800 /s.");
    assert.ok((await page.textContent("#numbers")).includes("rate within SLO"));
  },

  async "draws late samples by cause"(page) {
    await page.goto(urlOf("blame.html"));
    await shown(page, "late-samples");
    const legend = await page.$$eval("#late-samples .legend button", (buttons) => buttons.map((button) => button.textContent));
    assert.deepEqual(legend, ["local", "peer", "path", "undecided"]);
    assert.match(await page.textContent("#blame-found"), /^2 of 20 µs or more, .*: 1 local, 0 peer, 0 path, 1 undecided\./);
    assert.match(await page.textContent("#numbers"), /2027-01-15T08:00:00\.000000019Z/);
  },

  async "keeps the chosen case in the fragment"(page) {
    await page.goto(urlOf("report.html", "#case=send_lat/rc/size:1024"));
    assert.deepEqual(await chosen(page), ["send_lat/rc/size:1024"]);
    await page.locator("a.case", { hasText: "send_lat/ud/size:64" }).first().click();
    assert.equal(await page.evaluate(() => location.hash), "#case=send_lat/ud/size:64");
    await page.locator("a.case", { hasText: "send_lat/rc/size:2" }).first().click({ modifiers: ["Shift"] });
    assert.equal(await page.evaluate(() => location.hash), "#case=send_lat/ud/size:64&case=send_lat/rc/size:2");
    await page.reload();
    assert.deepEqual(await chosen(page), ["send_lat/ud/size:64", "send_lat/rc/size:2"]);
    await page.fill("#case-input", "send_lat/rc/size:1024");
    await page.dispatchEvent("#case-input", "change");
    assert.equal((await chosen(page)).length, 3);
    await page.locator("#chosen button").first().click();
    assert.deepEqual(await chosen(page), ["send_lat/rc/size:2", "send_lat/rc/size:1024"]);
    await page.locator("nav a", { hasText: "Numbers" }).click();
    assert.equal(await page.evaluate(() => location.hash), "#case=send_lat/rc/size:2&case=send_lat/rc/size:1024");
  },

  async "says which cases of a fragment are not there"(page) {
    await page.goto(urlOf("report.html", "#case=no_such/case"));
    assert.match(await page.textContent("#case-note"), /no_such\/case/);
    await page.goto("about:blank");
    await page.goto(urlOf("report.html", "#case=%E0%A4%A"));
    assert.deepEqual(await chosen(page), []);
  },

  async "a click in the legend hides a series, another shows it"(page) {
    await page.goto(urlOf("report.html", "#case=send_lat/rc/size:2&case=send_lat/rc/size:1024"));
    await shown(page, "percentiles");
    const both = await strokes(page, "percentiles");
    assert.equal(both.length, 2);
    const button = page.locator("#percentiles .legend button", { hasText: "size:1024" });
    await button.click();
    assert.deepEqual(await strokes(page, "percentiles"), both.slice(0, 1));
    assert.equal(await button.getAttribute("aria-pressed"), "false");
    assert.equal((await strokes(page, "distribution")).length, 2);
    await button.click();
    assert.deepEqual(await strokes(page, "percentiles"), both);
  },

  async "says under the pointer what is there"(page) {
    await page.goto(urlOf("report.html"));
    await shown(page, "percentiles");
    await page.hover("#percentiles .plot");
    await page.waitForSelector("#percentiles .tip td");
    assert.match(await page.textContent("#percentiles .tip"), /p9.*send_lat.*µs/);
  },

  async "draws any quantity over any axis"(page) {
    await page.goto(urlOf("many.html"));
    await shown(page, "rates");
    await page.selectOption("#rates [data-quantity]", { label: "message rate" });
    await page.selectOption("#rates [data-axis]", { label: "qps" });
    await page.fill("#line-filter", "size 512 B, depth 1");
    await settle(page);
    assert.match(await page.textContent("#rates .legend"), /write_bw rc, size 512 B/);
  },

  async "draws the rate over time, a line for each repetition"(page) {
    await page.goto(urlOf("two.html"));
    await shown(page, "over-time");
    await page.selectOption("#time-case", { label: "write_bw/rc/size:65536" });
    assert.equal((await strokes(page, "over-time")).length, 2);
  },

  async "draws how topologies grow, what is predicted dashed"(page) {
    await page.goto(urlOf("topology.html"));
    await shown(page, "growth");
    const lines = () => page.$$eval('#growth .plot svg path[stroke-width="2"]', (paths) => paths.map((path) => (
      { color: path.getAttribute("stroke"), dashed: path.hasAttribute("stroke-dasharray") })));
    const all = await lines();
    assert.equal(all.length, 6);
    assert.equal(all.filter(({ dashed }) => dashed).length, 3);
    await page.selectOption("#growth [data-quantity]", { label: "alltoall, a rank's rate, 4K B" });
    assert.equal((await lines()).length, 3);
    await page.locator("#growth .legend button", { hasText: "ring" }).click();
    assert.equal((await lines()).length, 2);
    await page.hover("#growth .plot");
    await page.waitForSelector("#growth .tip td");
    assert.match(await page.textContent("#growth .tip"), /ranks.*mesh.*Gb\/s/);
    await shown(page, "growth-more");
  },

  async "draws matrices and graphs, and names the straggler"(page) {
    await page.goto(urlOf("topology.html"));
    assert.equal(await page.locator("#topologies svg.matrix").count(), 4);
    assert.equal(await page.locator("#topologies svg.graph").count(), 4);
    assert.match(await page.locator("#topologies svg.matrix text.n").first().textContent(), /^\d+\.\d+$/);
    assert.match(await page.textContent("#topologies p.slow"), /rank 5 \(beta\) takes 3\.0 times/);
    const fills = await page.$$eval("#topologies svg.matrix rect", (cells) => cells.map((cell) => getComputedStyle(cell).fill));
    assert.ok(new Set(fills).size >= 6, [...new Set(fills)].join(" "));
  },

  async "tables sort by value, and unknown ones come last"(page) {
    await page.goto(urlOf("report.html"));
    const head = page.locator("#numbers section.group", { hasText: "write_bw over RC" }).locator("th", { hasText: "bandwidth" });
    const column = () => head.evaluate((cell) => [...cell.closest("table").tBodies[0].rows].map((row) => Number.parseFloat(row.cells[cell.cellIndex].textContent)));
    await head.locator("button").click();
    const ascending = await column();
    assert.deepEqual(ascending, [...ascending].sort((a, b) => a - b));
    await head.locator("button").click();
    assert.deepEqual(await column(), [...ascending].reverse());
    assert.equal(await head.getAttribute("aria-sort"), "descending");
  },

  async "has a light and a dark side"(page) {
    await page.goto(urlOf("report.html"));
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.click("#theme");
    const dark = await background();
    assert.notEqual(light, dark);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.reload();
    assert.equal(await background(), dark);
    await page.emulateMedia({ colorScheme: "light" });
  },

  async "fits 390 pixels, its contents within reach"(page) {
    await page.setViewportSize({ width: 390, height: 800 });
    for (const [name, figure] of [["two.html", "percentiles"], ["topology.html", "growth"], ["minute.html", "latency-over-time"]]) {
      await page.goto(urlOf(name));
      await shown(page, figure);
      assert.ok(await page.locator("nav a").first().isVisible());
      const beyond = await page.evaluate(() => [...document.querySelectorAll("main .chart, main .chart select, main svg[width], .tile b, .facts dd")]
        .filter((one) => !one.closest(".scroll") && one.getBoundingClientRect().right > innerWidth + 1).map((one) => one.outerHTML.slice(0, 80)));
      assert.deepEqual(beyond, [], name);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
    }
    const words = await page.locator("#latency-over-time .plot svg text").allTextContents();
    assert.ok(words.includes("half round trip"), words.join());
  },

  async "is on paper whole: every chart, what is folded away, on white"(page) {
    await page.emulateMedia({ colorScheme: "dark", media: "print" });
    await page.goto(urlOf("two.html"));
    const folded = await page.locator("details:not([open])").count();
    assert.ok(folded > 0);
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("details:not([open])").count(), 0);
    const figures = await page.locator("figure.chart").count();
    assert.equal(await page.locator("figure.chart .plot svg").count(), figures);
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".legend")).maxHeight), "none");
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
    assert.equal(await page.locator("details:not([open])").count(), folded);
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), undefined);
    await page.emulateMedia({ colorScheme: "light", media: "screen" });
  },

  async "has charts on paper as wide as their places, whole"(page) {
    await page.emulateMedia({ media: "print" });
    for (const name of ["two.html", "topology.html"])
      for (const width of [700, 1200]) { // a wide table makes the sheet as wide as itself
        await page.setViewportSize({ width, height: 900 });
        await page.goto(urlOf(name));
        await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
        const cut = await page.evaluate(() => [...document.querySelectorAll("figure.chart:not([hidden])")].filter((figure) => {
          const svg = figure.querySelector(".plot svg"), [place, picture] = [figure, svg].map((one) => one.getBoundingClientRect());
          return picture.right > place.right || picture.bottom > place.bottom || picture.width < 500 || !svg.getAttribute("viewBox");
        }).map(({ id }) => id));
        assert.deepEqual(cut, [], `${name}, ${width}`);
        await page.evaluate(() => dispatchEvent(new Event("afterprint")));
        assert.equal(await page.locator(".plot svg[viewBox]").count(), 0);
      }
  },

  async "has no table on paper that is wider than the sheet"(page) {
    await page.emulateMedia({ media: "print" });
    await page.setViewportSize({ width: 718, height: 1000 }); // A4 but for margins of a centimetre
    for (const name of ["two.html", "topology.html", "sweep.html", "minute.html"]) {
      await page.goto(urlOf(name));
      assert.deepEqual(await page.$$eval("table", (tables) => tables.filter((one) =>
        one.getBoundingClientRect().right > innerWidth).map((one) => one.caption.textContent)), [], name);
    }
  },

  async "holds two results against each other"(page) {
    await page.goto(urlOf("two.html", "#case=send_lat/rc/size:2"));
    await shown(page, "percentiles");
    assert.equal((await strokes(page, "percentiles")).length, 2);
    assert.match(await page.textContent("#comparison .verdict"), /new\.json against .*base\.json *\d+ cases/);
    assert.ok(await page.locator("#comparison svg.interval circle").first().isVisible());
    assert.deepEqual(await page.$$eval("td.differs", (cells) => cells.map((cell) => cell.textContent)), ["6.9.9"]);
  },

  async "shows markup in names as text"(page) {
    await page.goto(urlOf("hostile.html"));
    await shown(page, "percentiles");
    await page.hover("#percentiles .plot");
    await page.waitForSelector("#percentiles .tip td");
    assert.equal(await page.evaluate(() => document.querySelectorAll("img, b b, main script").length), 0);
    assert.equal(await page.evaluate(() => window.broken), undefined);
    assert.match(await page.textContent("#percentiles .tip"), /<img src=x/);
    await page.locator("td a.case", { hasText: "send_lat" }).first().click();
    assert.equal((await chosen(page)).length, 1);
  },

  async "opens a thousand cases in under two seconds of its thread, in less than 8 MB"(page) {
    assert.ok(statSync(pathOf("many.html")).size < 8e6, `${statSync(pathOf("many.html")).size} bytes`);
    // Time of the CPU, of the thread that parses, runs and draws the page: other tests may run beside this one. They
    // take caches and half of a core from it even so, and never give any: the least of three is the page's own.
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    const busy = async () => (await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
    let least = Infinity;
    for (let opened = 0; opened < 3 && least >= 2; opened++) {
      const before = await busy();
      await page.goto(urlOf("many.html"));
      await shown(page, "percentiles");
      least = Math.min(least, await busy() - before);
    }
    console.log(`# ${statSync(pathOf("many.html")).size} bytes, ${Math.round(least * 1000)} ms`);
    assert.ok(least > 0 && least < 2, `${least} s`);
  },
};

async function withoutScript(browser) {
  const context = await browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(urlOf("report.html"));
  assert.ok(await page.locator("#numbers table").first().isVisible());
  assert.ok(!(await page.locator(".chart").first().isVisible()));
  assert.ok(await page.locator("noscript p").first().isVisible());
  await page.goto(urlOf("topology.html"));
  for (const part of ["svg.matrix", "svg.graph", "table", "p.slow"])
    assert.ok(await page.locator(`#topologies ${part}`).first().isVisible(), part);
  await context.close();
}

async function pictures(page) {
  if (!screenshots) return;
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.goto("about:blank");
    await page.goto(urlOf("many.html"));
    await shown(page, "distribution");
    await picture(page, `many-${colorScheme}.png`);
    await page.goto(urlOf("two.html"));
    await shown(page, "rates");
    await settle(page);
    await picture(page, `two-${colorScheme}-whole.png`);
    await page.goto(urlOf("topology.html"));
    await shown(page, "growth");
    await shown(page, "growth-more");
    await settle(page);
    await picture(page, `topology-${colorScheme}.png`);
  }
}

let failed = 0;
let browser;
try {
  execFileSync(writeSamples, [scratch]);
  const base = load("base.json");
  save("many.json", manyCases(base, 1000));
  const changed = load("new.json");
  for (const row of changed.benchmarks) row.bandwidth && (row.bandwidth.window_ns = Math.round(row.bandwidth.window_ns * 1.1));
  changed.context.rdmameter.initiator.kernel = "6.9.9";
  for (const row of changed.benchmarks.filter((one) => one.bandwidth))
    row.series = { interval_ns: 1e9, end_ns: [1e9, 2e9, 3e9], messages: [900000, 1000000, 990000], mmsg_per_s_min: 0.9, mmsg_per_s_max: 1 };
  save("new.json", changed);
  const hostile = structuredClone(base);
  for (const row of hostile.benchmarks) {
    row.run_name = `<img src=x onerror="broken=1">'"&</script>${row.run_name}`;
    row.name = row.run_name + (row.skipped ? "/skipped" : row.error_occurred ? "/error" : "");
  }
  save("hostile.json", hostile);
  report("report.html", pathOf("base.json"));
  report("two.html", pathOf("base.json"), pathOf("new.json"));
  report("many.html", pathOf("many.json"));
  report("hostile.html", pathOf("hostile.json"));
  report("topology.html", pathOf("topology.json"));
  const [sweep] = base.benchmarks.filter((row) => row.name.startsWith("send_lat/rc")).slice(0, 1).map((row) => structuredClone(row));
  delete sweep.latency;
  Object.assign(sweep, { repetitions: 1, repetition_index: 0 });
  sweep.case.rate = "sweep";
  sweep.sweep = {
    saturation_per_s: 1000, unloaded_p99_ns: 2000, slo_ns: 10000, slo_rate_per_s: 800, slo_missed_per_s: 815,
    points: [[100, 1000, 2000], [500, 1200, 3000], [800, 2000, 9000], [900, 4000, 20000]].map(([rate, p50, p99]) => (
      { rate_per_s: rate, offered_per_s: rate, reached_per_s: rate, p50_ns: p50, p99_ns: p99 })),
  };
  report("blame.html", pathOf("blame.json"));
  save("sweep.json", { ...base, benchmarks: [sweep] });
  const overTime = base.benchmarks.filter((row) => row.name.startsWith("send_lat/rc/size:") && row.latency).map((row) => ({
    ...row,
    ...Object.fromEntries(["name", "run_name"].map((key) => [key, `${row.run_name}/iterations:100000000/interval:100ms/peer-device:soft1`])),
    over_time: { interval_ns: 1e8, count: [2000, 2000], p50: [9000, 9100], p99: [12000, 13000], max: [15000, 105000000] },
  }));
  save("minute.json", { ...base, benchmarks: overTime });
  report("minute.html", pathOf("minute.json"));
  report("sweep.html", pathOf("sweep.json"));

  browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, colorScheme: "light" });
  for (const [claim, test] of Object.entries(tests)) {
    const page = watch(await context.newPage());
    page.setDefaultTimeout(kPatience);
    problems.length = 0;
    try {
      await test(page);
      assert.deepEqual(problems, []);
      console.log(`ok - ${claim}`);
    } catch (error) {
      failed++;
      console.log(`not ok - ${claim}\n${String(error.stack ?? error).replace(/^/gm, "# ")}`);
    }
    await page.close();
  }
  await withoutScript(browser);
  console.log("ok - has its tables without JavaScript");
  await pictures(await context.newPage());
} finally {
  await browser?.close();
  rmSync(scratch, { recursive: true });
}
process.exitCode = failed ? 1 : 0;
