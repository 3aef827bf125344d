// SPDX-License-Identifier: Apache-2.0
// How shapes grow with their ranks: what was measured as points, what the model predicts dashed.

const quantityTitle = ({ name, size }) => (size === undefined ? name : `${name}, ${sizeText(size)} B`);

/** One shape: measured points and their line, and the prediction where there is one. */
function growthSeries({ graph, measured, predicted }, color) {
  return [
    { type: "line", name: graph, color, z: 3, showSymbol: true, symbol: "circle", symbolSize: 7, data: measured.map(([n, , median]) => [n, median]) },
    ...(predicted.length ? [{ type: "line", name: graph, color, dash: "dashed", z: 2, data: predicted }] : []),
  ];
}

function growthChart(id, data) {
  const figure = document.getElementById(id);
  const modelSelect = figure.querySelector("[data-model]");
  const quantitySelect = figure.querySelector("[data-quantity]");
  const models = data.topologies;
  modelSelect.append(...models.map(({ name }, index) => new Option(name, index)));
  modelSelect.hidden = models.length < 2;
  const fillQuantities = () => {
    const { quantities } = models[modelSelect.value];
    const before = quantitySelect.value;
    quantitySelect.replaceChildren(...quantities.map((one) => new Option(quantityTitle(one), one.key)));
    const start = quantities.at(Math.min(Number(figure.dataset.start), quantities.length - 1));
    quantitySelect.value = quantities.some(({ key }) => key === before) ? before : start?.key;
  };
  fillQuantities();

  const made = chart(id, () => {
    const quantity = models[modelSelect.value].quantities.find(({ key }) => key === quantitySelect.value);
    const points = (quantity?.lines ?? []).flatMap(({ measured, predicted }) => [...measured.map(([n, , median]) => [n, median]), ...predicted]);
    const xs = points.map(([n]) => n), ys = points.map(([, value]) => value);
    const unit = quantity?.unit ?? "";
    return {
      option: {
        xAxis: horizontalAxis({ name: "ranks", unit: "" }, xs.length ? xs : [2, 16]),
        yAxis: quantityAxis({ name: quantity ? quantityTitle(quantity) : "", unit }, ys.length ? ys : [1]),
        tooltip: {
          trigger: "axis", axisPointer: { snap: true },
          formatter: (hits) => tip(`${hits[0].value[0]} ranks`, hits.map((hit) => (
            { color: hit.color, name: hit.seriesIndex !== undefined && hit.seriesId.startsWith("predicted") ? `${hit.seriesName}, predicted` : hit.seriesName, text: valueText(hit.value[1], unit) }))),
        },
      },
      series: (quantity?.lines ?? []).flatMap((line, index) => growthSeries(line, colorOf(index)).map((one) => (
        { ...one, id: `${one.dash ? "predicted" : one.type}-${index}` }))),
    };
  });
  modelSelect.addEventListener("change", () => { fillQuantities(); made.draw(); });
  quantitySelect.addEventListener("change", made.draw);
  return made;
}
