// A diff, inline or side by side, with its changes to be accepted or rejected one by one where that is possible.

import { add, button, fill, h, icon, setHtml } from "./dom.js";
import { t } from "./i18n.js";
import { recall, remember } from "./memory.js";

const KEY = "weft.diff";
const sideBySide = () => recall(KEY) === "side";

function cell(kind, row, html) {
  const made = h(`div.diff-code.${kind}`);
  if (row === null) return made;
  setHtml(made, html || " ");
  return made;
}

function inlineRows(rows) {
  return rows.map((row) =>
    h(`div.diff-row.${row.kind}`, {},
      h("span.diff-number", {}, row.old ?? ""),
      h("span.diff-number", {}, row.new ?? ""),
      h("span.diff-sign", { "aria-hidden": "true" }, { old: "−", new: "+", same: "" }[row.kind]),
      cell(row.kind, row, row.html),
    ),
  );
}

/** Removed and added lines that stand together face each other. */
function sideRows(rows) {
  const out = [];
  const pair = (left, right) =>
    out.push(
      h("div.diff-row.pair", {},
        h("span.diff-number", {}, left?.old ?? ""), cell(left ? left.kind : "void", left, left?.html),
        h("span.diff-number", {}, right?.new ?? ""), cell(right ? right.kind : "void", right, right?.html),
      ),
    );
  for (let at = 0; at < rows.length; ) {
    if (rows[at].kind === "same") {
      pair(rows[at], rows[at]);
      at += 1;
      continue;
    }
    const old = [];
    const fresh = [];
    while (at < rows.length && rows[at].kind !== "same") (rows[at].kind === "old" ? old : fresh).push(rows[at++]);
    for (let n = 0; n < Math.max(old.length, fresh.length); n++) pair(old[n] ?? null, fresh[n] ?? null);
  }
  return out;
}

/** `choice`, when given, is a Set of the accepted hunks; `chosen()` is called when it changes. */
export function diffView(data, { choice = null, chosen = () => {}, open = null, short = (text) => text } = {}) {
  const body = h("div.diff-body", { tabIndex: 0, role: "region", "aria-label": data.path });
  const toggle = button("", { kind: "quiet", iconName: "split", onclick: () => flip() });
  const name = h("button.diff-path", { type: "button", title: data.path, onclick: () => open?.(data.path) }, short(data.path));
  const head = h("div.diff-head", {}, icon("file"), name,
    data.change === "changed" ? null : h("span.badge", {}, t(`diff.${data.change}`)),
    h("span.diff-added", {}, `+${data.added}`), h("span.diff-removed", {}, `−${data.removed}`), toggle);

  function flip() {
    remember(KEY, sideBySide() ? "inline" : "side");
    document.dispatchEvent(new CustomEvent("weft:diff"));
  }

  function hunkBar(number) {
    if (!choice) return number ? h("div.diff-gap", { "aria-hidden": "true" }, "⋯") : null;
    const taken = choice.has(number);
    const set = (on) => {
      on ? choice.add(number) : choice.delete(number);
      draw();
      chosen();
    };
    return h("div.diff-hunk-bar", { role: "group", "aria-label": t("diff.hunk", { number: number + 1, count: data.hunks.length }) },
      h("span", {}, t("diff.hunk", { number: number + 1, count: data.hunks.length })),
      h(`button.pill${taken ? ".on" : ""}`, { type: "button", "aria-pressed": String(taken), onclick: () => set(true) }, icon("check"), t("diff.accept")),
      h(`button.pill.no${taken ? "" : ".on"}`, { type: "button", "aria-pressed": String(!taken), onclick: () => set(false) }, icon("cross"), t("diff.reject")),
    );
  }

  function draw() {
    const side = sideBySide();
    toggle.title = t(side ? "diff.inline" : "diff.side");
    toggle.setAttribute("aria-label", toggle.title);
    body.classList.toggle("side", side);
    fill(body, data.hunks.map((rows, number) =>
      h(`div.diff-hunk${choice && !choice.has(number) ? ".refused" : ""}`, {}, hunkBar(number),
        h("div.diff-rows", {}, side ? sideRows(rows) : inlineRows(rows))),
    ));
  }

  draw();
  const element = h("div.diff", {}, head, body);
  const redraw = () => (element.isConnected ? draw() : document.removeEventListener("weft:diff", redraw));
  document.addEventListener("weft:diff", redraw);
  return add(element);
}
