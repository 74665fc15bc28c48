// The list of conversations: search, rename, copy, delete.

import { button, fill, h, icon } from "./dom.js";
import { ago, t } from "./i18n.js";
import { askText, choose, showMenu } from "./menu.js";
import { recall, remember } from "./memory.js";

export class Sidebar {
  /** `deps`: socket, current() (an id), open(id), fresh(), menu(anchor). */
  constructor(deps) {
    this.deps = deps;
    this.rows = [];
    this.found = null;
    this.search = h("input", { type: "search", placeholder: t("side.search"), "aria-label": t("side.search"), oninput: () => this.look(),
      onkeydown: (event) => { if (event.key === "ArrowDown") { event.preventDefault(); this.list.querySelector(".row-open")?.focus(); } } });
    this.list = h("nav.rows", { "aria-label": t("side.list"), onkeydown: (event) => this.walk(event) });
    this.element = h("aside.sidebar", {},
      h("div.brand", {}, h("img", { src: "/static/weft.svg", alt: "", width: 22, height: 22 }), h("strong", {}, "Weft"), h("span.stretch"),
        button(t("side.hide"), { iconName: "panel", kind: "quiet", onclick: () => this.toggle() })),
      h("button.fresh", { type: "button", onclick: () => deps.fresh() }, icon("plus"), t("side.new")),
      h("label.search", {}, icon("search"), this.search), this.list);
    const narrow = matchMedia("(max-width: 760px)");
    if (recall("weft.sidebar") === "hidden" || narrow.matches) document.body.classList.add("no-sidebar");
    // On a narrow window the list lies over the conversation: a click beside it, or Escape, closes it.
    const away = () => narrow.matches && document.body.classList.add("no-sidebar");
    document.addEventListener("pointerdown", (event) => { if (!this.element.contains(event.target) && !event.target.closest(".show-side, .menu, dialog")) away(); });
    this.element.addEventListener("keydown", (event) => { if (event.key === "Escape") away(); });
    narrow.addEventListener("change", () => narrow.matches && document.body.classList.add("no-sidebar"));
  }

  toggle() {
    const hidden = document.body.classList.toggle("no-sidebar");
    remember("weft.sidebar", hidden ? "hidden" : "shown");
  }

  async look() {
    const query = this.search.value.trim();
    this.found = query ? await this.deps.socket.ask("searchConversations", { query }).catch(() => []) : null;
    this.draw();
  }

  set(rows) {
    this.rows = rows;
    this.draw();
  }

  draw() {
    const shown = this.found ? this.found.map((id) => this.rows.find((row) => row.id === id)).filter(Boolean) : this.rows;
    if (!shown.length) return fill(this.list, h("p.muted.pad", {}, t(this.found ? "side.nothing" : "side.empty")));
    const focused = document.activeElement?.closest?.(".row")?.dataset.id;
    let group = null;
    fill(this.list, shown.map((row) => {
      const now = this.found ? null : groupOf(row.updated);
      const head = now && now !== group ? h("h3", {}, t(`side.${now}`)) : null;
      group = now ?? group;
      return [head, this.row(row)];
    }));
    if (focused) this.list.querySelector(`[data-id="${CSS.escape(focused)}"] .row-open`)?.focus();
  }

  row(row) {
    const more = button(t("row.more"), { iconName: "down", kind: "quiet", "aria-haspopup": "menu", onclick: () => this.more(more, row) });
    const state = row.state === "idle" || row.state === "lost" ? null : h(`span.dot.${row.state}`, { role: "img", "aria-label": t(`row.${row.state}`), title: t(`row.${row.state}`) });
    const current = row.id === this.deps.current();
    return h(`div.row${current ? ".on" : ""}`, { "data-id": row.id },
      h("button.row-open", { type: "button", "aria-current": current ? "true" : null, onclick: () => this.deps.open(row.id), title: row.title },
        state, h("span.row-title", {}, row.title || t("untitled")), h("span.row-sub", {}, [row.agent === "weft" ? null : row.agent, ago(row.updated)].filter(Boolean).join(" · "))), more);
  }

  more(anchor, row) {
    const send = (type, fields = {}) => this.deps.socket.send(type, { conversation: row.id, ...fields });
    showMenu(anchor, [
      { label: t("row.rename"), iconName: "edit", act: async () => {
        const title = await askText(t("row.rename"), row.title);
        if (title) send("renameConversation", { title });
      } },
      { label: t("row.fork"), iconName: "fork", act: () => send("forkConversation") },
      "---",
      { label: t("row.delete"), iconName: "trash", act: async () => {
        const sure = await choose(t("row.delete"), t(row.agent === "weft" ? "row.delete.sure" : "row.delete.other", { title: row.title || t("untitled"), agent: row.agent }), [
          { label: t("row.delete"), value: true, kind: "no" }, { label: t("cancel"), value: false }]);
        if (sure) send("deleteConversation");
      } },
    ], { label: t("row.more") });
  }

  walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const all = [...this.list.querySelectorAll(".row-open")];
    all[all.indexOf(document.activeElement.closest(".row")?.querySelector(".row-open")) + step]?.focus();
  }

  /** The conversation `step` places from the current one. */
  neighbour(step) {
    const at = this.rows.findIndex((row) => row.id === this.deps.current());
    return this.rows[at < 0 ? 0 : at + step]?.id;
  }
}

function groupOf(time) {
  const days = (Date.now() / 1000 - time) / 86400;
  return days < 1 ? "today" : days < 7 ? "week" : "older";
}
