// SPDX-License-Identifier: Apache-2.0
// p50, p99 and the greatest latency of one case over time, repetition by repetition; where messages were lost.

/** What the chart shows, in words. */
function latencyTimeText(runs) {
  const points = runs.flat();
  const [at, , , most] = points.reduce((found, point) => (point[3] > found[3] ? point : found), [0, 0, 0, 0, 0]);
  const lost = points.reduce((sum, point) => sum + point[4], 0);
  return [
    "Lines for each repetition, without the warm-up; each value is that of the interval which ends there.",
    ...(most > 0 ? [`The longest, ${timeText(most)}, is in the interval that ends at ${timeText(at * 1e9)}.`] : []),
    ...(lost > 0 ? [`${lost} messages were lost.`] : []),
  ].join(" ");
}

function latencyTimeChart(data) {
  const select = document.getElementById("latency-time-case");
  const cases = data.cases.filter((one) => one.files.some((file) => file?.latency_over_time));
  select.append(...cases.map((one, index) => new Option(one.label, index)));
  const made = chart("latency-over-time", () => {
    const shown = cases[select.value].files;
    const kinds = new Set(shown.flatMap((file) => file?.latency?.kind ?? []));
    const all = shown.flatMap((file, f) => (file?.latency_over_time ?? []).map((points) => ({ points, f })));
    const runs = all.slice(0, kMostLines);
    const drawn = all.length > runs.length ? ` ${runs.length} of ${all.length} repetitions are drawn.` : "";
    document.getElementById("latency-time-found").textContent = latencyTimeText(all.map(({ points }) => points)) + drawn;
    const times = runs.flatMap(({ points }) => points.flatMap((point) => point.slice(1, 4))).filter((ns) => ns > 0);
    const low = Math.min(...times) / 1.3, high = Math.max(...times) * 1.3;
    const lines = runs.flatMap(({ points, f }) => [["p50", 1, 0], ["p99", 2, 1], ["max", 3, 3]].map(([name, at, color]) => ({
      name: data.files.length > 1 ? `${name} · ${data.files[f]}` : name, color: colorOf(color), dash: dashes[f % dashes.length],
      type: "line", showSymbol: points.length < 60, symbol: "circle", symbolSize: 4,
      data: points.map((point) => [point[0], point[at]]),
    })).filter((line) => line.data.some(([, ns]) => ns !== null)));
    const lost = runs.flatMap(({ points }) => points.filter((point) => point[4] > 0).map((point) => [point[0], low * 1.1, point[4]]));
    const marks = lost.length === 0 ? [] : [{ name: "lost", color: colorOf(7), type: "scatter", symbol: "triangle", symbolSize: 9, data: lost }];
    return {
      option: {
        xAxis: axis("since the warm-up", (s) => timeText(s * 1e9), { type: "value" }),
        yAxis: verticalAxis(kinds.size === 1 ? [...kinds][0] : "latency", timeText, { type: "log", min: low, max: high, ticks: logTicks(low, high, "ns") }),
        tooltip: {
          trigger: "axis",
          formatter: (hits) => tip(timeText(hits[0].value[0] * 1e9), hits.filter((hit) => hit.value[1] !== null).map((hit) => (
            { color: hit.color, name: hit.seriesName, text: hit.seriesName === "lost" ? String(hit.value[2]) : timeText(hit.value[1]) }))),
        },
      },
      series: [...lines, ...marks],
    };
  });
  select.addEventListener("change", made.draw);
  return made;
}
