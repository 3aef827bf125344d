// SPDX-License-Identifier: Apache-2.0
// The page: which cases are chosen (the address's fragment says it: #case=NAME&case=NAME), and what
// is drawn anew when that, or the colours, change.

const kFirstChosen = 4; // cases that are drawn before anything is chosen

const encodeName = (name) => encodeURIComponent(name).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",");

/** The names that the fragment has; null: it says nothing of cases. */
function namesInFragment() {
  if (!location.hash.startsWith("#case=")) return null;
  try {
    return location.hash.slice(1).split("&").map((part) => decodeURIComponent(part.replace(/^case=/, "")));
  } catch { // not well encoded
    return [];
  }
}

/** The case that a link draws. */
const nameOfLink = (link) => decodeURIComponent(link.getAttribute("href").slice("#case=".length));

function choose(names) {
  location.hash = names.map((name) => `case=${encodeName(name)}`).join("&");
}

/** The first cases of one test and transport: they belong together. */
function firstCases(withLatency) {
  const [first] = withLatency;
  return withLatency.filter((one) => one.test === first.test && one.transport === first.transport).slice(0, kFirstChosen);
}

function latencyCharts(data) {
  const withLatency = data.cases.filter((one) => one.files.some((file) => file?.latency));
  const byName = new Map(withLatency.map((one) => [one.name, one]));
  const byLabel = new Map(withLatency.map((one) => [one.label, one]));
  const state = { chosen: [] };
  const drawn = [percentileChart(data, state), distributionChart(data, state)];
  const note = document.getElementById("case-note");
  const input = document.getElementById("case-input");
  document.getElementById("case-names").append(...withLatency.map((one) => new Option(one.label)));
  const names = () => state.chosen.map((one) => one.name);

  function update() {
    const wanted = namesInFragment();
    state.chosen = wanted === null ? firstCases(withLatency) : wanted.map((name) => byName.get(name)).filter(Boolean);
    const missing = (wanted ?? []).filter((name) => !byName.has(name));
    note.hidden = missing.length === 0;
    note.textContent = `Without latency, or not in these results: ${missing.join(", ")}`;
    document.getElementById("chosen").replaceChildren(...state.chosen.map((one) => {
      const button = element("button", { type: "button", title: `${one.name}: leave out` }, one.label);
      button.addEventListener("click", () => choose(names().filter((name) => name !== one.name)));
      return element("li", {}, button);
    }));
    for (const link of document.querySelectorAll("td a.case"))
      link.closest("tr").classList.toggle("chosen", names().includes(nameOfLink(link)));
    for (const one of drawn) one.draw();
  }
  input.addEventListener("change", () => {
    const typed = byName.get(input.value) ?? byLabel.get(input.value);
    if (!typed) return;
    choose([...new Set([...names(), typed.name])]);
    input.value = "";
  });
  // A plain click shows that case alone; with Ctrl or Shift it comes to those that are there.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href^="#case="]');
    if (!link) return;
    event.preventDefault();
    const name = nameOfLink(link);
    const adding = event.ctrlKey || event.metaKey || event.shiftKey;
    choose(adding ? [...new Set([...names(), name])] : [name]);
    if (!adding) document.getElementById("latency").scrollIntoView();
  });
  addEventListener("hashchange", update);
  update();
  return drawn;
}

/** On paper everything is there: charts that nobody has scrolled to, what is folded away, on white. */
function printWhole(drawn, redraw) {
  let theme, opened = [];
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
    drawn.forEach((one) => one.fit(true));
    redraw(); // at once, and in the new size
  });
  addEventListener("afterprint", () => {
    for (const one of opened) one.open = false;
    if (theme === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    drawn.forEach((one) => one.fit(false));
    redraw();
  });
}

function main() {
  document.documentElement.classList.remove("no-js");
  for (const table of document.querySelectorAll("table")) makeSortable(table);
  // The fragment is the chosen cases', so the list of contents scrolls without it.
  for (const link of document.querySelectorAll("nav a"))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.querySelector(link.getAttribute("href")).scrollIntoView();
    });

  const data = JSON.parse(document.getElementById("data").textContent);
  for (const { files } of data?.cases ?? []) for (const file of files) if (file?.latency) unpackLatency(file.latency);
  const drawn = [];
  if (data && document.getElementById("latency")) drawn.push(...latencyCharts(data));
  if (data && document.getElementById("axes")) drawn.push(...["rates", "latencies"].map((id) => axisChart(id, data)).filter(Boolean));
  if (data && document.getElementById("time")) drawn.push(timeChart(data));
  if (data && document.getElementById("latency-time")) drawn.push(latencyTimeChart(data));
  if (data && document.getElementById("blame")) drawn.push(blameChart(data));
  if (data?.loads) drawn.push(loadChart(data));
  if (data?.topologies) drawn.push(...["growth", "growth-more"].map((id) => growthChart(id, data)));
  const redraw = () => drawn.forEach((one) => one.draw());
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  printWhole(drawn, redraw);
}
main();
