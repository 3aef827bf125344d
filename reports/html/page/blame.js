// SPDX-License-Identifier: Apache-2.0
// The late samples of one case, as bars over time in which the causes lie on each other.

const kCauses = [["local", 0], ["peer", 1], ["path", 2], ["undecided", 7]]; // with their colours

function blameText({ limit, ...bars }) {
  const counts = kCauses.map(([cause]) => [cause, bars[cause].reduce((sum, n) => sum + n, 0)]);
  const late = counts.reduce((sum, [, n]) => sum + n, 0);
  return `${late} of ${timeText(limit)} or more, all repetitions together: ${counts.map(([cause, n]) => `${n} ${cause}`).join(", ")}. ` +
    "Of a ping-pong a sample here is a whole round trip.";
}

function blameChart(data) {
  const select = document.getElementById("blame-case");
  const found = data.cases.flatMap((one) => one.files.flatMap((file, f) => (file?.blame ? [{
    name: data.files.length > 1 ? `${one.name} · ${data.files[f]}` : one.name, blame: file.blame }] : [])));
  select.append(...found.map(({ name }, index) => new Option(name, index)));
  const made = chart("late-samples", () => {
    const { blame } = found[select.value];
    document.getElementById("blame-found").textContent = blameText(blame);
    const rangeOf = (i) => `${timeText(blame.edges[i])} to ${timeText(blame.edges[i + 1])}`;
    return {
      option: {
        xAxis: axis("a sample took at least", (i) => timeText(blame.edges[i]), { type: "category", data: blame.local.map((_, i) => i), splitLine: { show: false } }),
        yAxis: verticalAxis("samples", String, { type: "value", minInterval: 1 }),
        tooltip: {
          trigger: "axis", axisPointer: { type: "shadow" },
          formatter: (hits) => tip(rangeOf(hits[0].dataIndex), hits.map((hit) => (
            { color: hit.color, name: hit.seriesName, text: String(hit.value) }))),
        },
      },
      series: kCauses.map(([cause, color]) => ({
        name: cause, color: colorOf(color), type: "bar", stack: "causes", barCategoryGap: "8%", data: blame[cause],
      })),
    };
  });
  select.addEventListener("change", made.draw);
  return made;
}
