// Plots of what was used, drawn as SVG.

import { h, svg } from "./dom.js";
import { money, short } from "./i18n.js";

/** Columns by day: `points` are {label, value}. */
export function columns(title, points, { dollars = false } = {}) {
  const [width, height, foot, left] = [640, 170, 22, 58];
  const most = Math.max(...points.map((point) => point.value), dollars ? 0.01 : 1);
  const show = (value) => (dollars ? money(value) : short(value));
  const step = (width - left) / Math.max(points.length, 1);
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": title });
  for (const part of [0, 0.5, 1]) {
    const y = (height - foot) * (1 - part) + (part === 1 ? 8 : 0);
    picture.append(svg("line", { x1: left, x2: width, y1: y, y2: y, class: "grid" }), text(left - 6, y + 4, show(most * part), "end"));
  }
  points.forEach((point, at) => {
    const tall = ((height - foot - 8) * point.value) / most;
    const bar = svg("rect", { x: left + at * step + step * 0.2, width: step * 0.6, y: height - foot - tall, height: Math.max(tall, point.value ? 1 : 0), rx: 2, class: "bar" });
    bar.append(label(`${point.label}: ${show(point.value)}`));
    picture.append(bar);
    if (at % Math.ceil(points.length / 8) === 0) picture.append(text(left + (at + 0.5) * step, height - 6, point.label.slice(5), "middle"));
  });
  return h("figure.plot", {}, h("figcaption", {}, title), picture);
}

/** Bars with names: `points` are {label, value}, the largest first. */
export function bars(title, points, { dollars = false, most = 8 } = {}) {
  const shown = [...points].sort((a, b) => b.value - a.value).slice(0, most);
  const top = Math.max(...shown.map((point) => point.value), dollars ? 0.01 : 1);
  return h("figure.plot", {}, h("figcaption", {}, title), h("div.bars", {}, shown.map((point) => {
    const fill = h("span.bar-fill");
    fill.style.width = `${Math.max(1, (point.value / top) * 100)}%`;
    return h("div.bar-row", {}, h("span.bar-name", { title: point.label }, point.label), h("span.bar-track", {}, fill), h("span.bar-value", {}, dollars ? money(point.value) : short(point.value)));
  })));
}

function text(x, y, words, anchor) {
  const made = svg("text", { x, y, "text-anchor": anchor });
  made.textContent = words;
  return made;
}

function label(words) {
  const made = svg("title");
  made.textContent = words;
  return made;
}
