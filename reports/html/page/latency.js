// SPDX-License-Identifier: Apache-2.0
// Latency by percentile, and its distribution, of the chosen cases over each other.

const kPointsPerDecade = 20; // of a curve, as chart_data.h says

/** [{name, color, dash, latency}] of every chosen case in every file that has it. */
function latencySeries(data, chosen) {
  const found = [];
  chosen.forEach((one, index) => one.files.forEach((file, f) => {
    if (!file?.latency) return;
    const name = data.files.length > 1 ? `${one.label} · ${data.files[f]}` : one.label;
    found.push({ name, color: colorOf(index), dash: dashes[f % dashes.length], latency: file.latency });
  }));
  return found;
}

/** What packed_curves() of chart_data.cpp has packed. */
function unpackLatency(latency) {
  const ascending = ([first, ...steps]) => {
    let at = 0;
    return [first, ...steps.map((step) => first * Math.exp((at += step) / 1000))];
  };
  latency.curve = ascending(latency.curve);
  if (latency.edges.length) latency.edges = ascending(latency.edges);
  latency.shares = latency.shares.map((share) => share / 1e5);
}

/** A curve's points, in two parts: as far as ten samples lie beyond, and from there to the largest. */
function curveParts({ curve, count, max }) {
  const points = curve.map((value, i) => [10 ** (i / kPointsPerDecade), value]);
  if (count > points.at(-1)[0]) points.push([count, max]);
  else points[points.length - 1] = [count, max];
  const sure = points.filter(([x]) => x <= count / 10);
  return { sure, rest: points.slice(Math.max(sure.length - 1, 0)) };
}

const percentText = (x) => {
  const nines = Math.round(Math.log10(x));
  return nines === 0 ? "0 %" : nines === 1 ? "90 %" : `99${nines > 2 ? "." : ""}${"9".repeat(nines - 2)} %`;
};
const pName = (x) => (x <= 1 ? "min" : `p${Number((100 - 100 / x).toFixed(Math.max(0, Math.ceil(Math.log10(x) - 1e-9) - 1)))}`);

/** The option of a logarithmic axis of time that has these values; all of them above 0. */
function logTime(values) {
  const [min, max] = [Math.max(Math.min(...values) / 1.06, 0.5), Math.max(...values, 1) * 1.06];
  return { type: "log", min, max, ticks: logTicks(min, max) };
}

/** A button of the figure that is pressed or not. @return whether it is */
function switchOf(made, name, state, otherwise) {
  const button = made.figure.querySelector(`[data-${name}]`);
  const pressed = state[name] ?? otherwise;
  button.setAttribute("aria-pressed", String(pressed));
  button.onclick = () => {
    state[name] = !pressed;
    made.draw();
  };
  return pressed;
}

function kindOf(series) {
  const kinds = new Set(series.map((one) => one.latency.kind));
  return kinds.size === 1 ? [...kinds][0] : "latency";
}

function percentileChart(data, state) {
  const made = chart("percentiles", () => {
    const found = latencySeries(data, state.chosen);
    const parts = found.map((one) => ({ ...one, ...curveParts(one.latency) }));
    const values = parts.flatMap(({ sure, rest }) => [...sure, ...rest].map(([, y]) => y));
    const last = Math.max(10, ...found.map((one) => one.latency.count));
    if (values.length === 0) values.push(1);
    const logarithmic = switchOf(made, "logarithmic", state, Math.max(...values) > 8 * Math.min(...values));
    const ticks = Array.from({ length: Math.ceil(Math.log10(last)) + 1 }, (_, i) => 10 ** i);
    return {
      option: {
        xAxis: axis("percentile, by 1/(1-p)", percentText, { type: "log", min: 1, max: ticks.at(-1), ticks }),
        yAxis: verticalAxis(kindOf(found), timeText, logarithmic ? logTime(values) : { type: "value" }),
        tooltip: {
          trigger: "axis", axisPointer: { snap: true },
          formatter: (hits) => tip(pName(hits[0].value[0]), hits.map((hit) => (
            { color: hit.color, name: hit.seriesName, text: timeText(hit.value[1]) }))),
        },
      },
      series: parts.flatMap(({ name, color, dash, sure, rest }) => [
        { type: "line", name, color, dash, data: sure },
        { type: "line", name, color, data: rest, lineStyle: { width: 1.3, color, type: [1, 3] } },
      ]),
    };
  });
  return made;
}

/** The corners of a line over bins: share of the samples for each 1 % of time [%]. */
function densityCorners({ edges, shares }) {
  return shares.flatMap((share, i) => {
    const low = Math.max(edges[i], 0.25);
    const high = Math.max(edges[i + 1], low * Math.exp(1 / 1000)); // a step of edges: a bin may be narrower
    const density = share / Math.log(high / low);
    return [[low, density], [high, density]];
  });
}

/** Up to which time the distribution is drawn: p99 and a little more. */
const bodyEnd = ({ curve }) => 1.3 * curve[Math.min(2 * kPointsPerDecade, curve.length - 1)];

function distributionChart(data, state) {
  const made = chart("distribution", () => {
    const found = latencySeries(data, state.chosen);
    const whole = switchOf(made, "whole", state, false);
    const values = found.flatMap(({ latency }) => [Math.max(latency.edges[0], 0.25),
      whole ? latency.edges.at(-1) : Math.min(bodyEnd(latency), latency.edges.at(-1))]);
    if (values.length === 0) values.push(1, 10);
    return {
      option: {
        xAxis: axis(kindOf(found), timeText, logTime(values)),
        yAxis: verticalAxis("samples per 1 % of time", (value) => `${digits(value)} %`, { type: "value" }),
        tooltip: {
          trigger: "axis",
          formatter: (hits) => tip(timeText(hits[0].axisValue), hits.map((hit) => (
            { color: hit.color, name: hit.seriesName, text: `${digits(hit.value[1])} %` }))),
        },
      },
      series: found.map(({ name, color, dash, latency }) => (
        { type: "line", name, color, dash, data: densityCorners(latency), areaStyle: { color, opacity: 0.12 } })),
    };
  });
  return made;
}
