// Completion while a message is written: `/` commands and the arguments that a server knows, `@` files, subagents
// and servers' resources, `#` tools.

import { fill, h, icon } from "./dom.js";
import { t } from "./i18n.js";

/** Attaches to a textarea. `info()` is the session's; `files(query)` searches the workspace; `agent(text)` asks the
 *  agent what could follow the text before the cursor. */
export class Completion {
  constructor(area, { info, files, agent, wake }) {
    this.area = area;
    this.info = info;
    this.files = files;
    this.agent = agent;
    this.moved = false;
    this.wake = wake;
    this.list = h("div.completion", { role: "listbox", id: "completion", hidden: true });
    this.items = [];
    this.at = 0;
    this.asked = 0;
    area.setAttribute("aria-autocomplete", "list");
    area.setAttribute("aria-controls", "completion");
    area.addEventListener("input", () => this.look());
    area.addEventListener("blur", () => setTimeout(() => this.hide(), 150));
  }

  get open() {
    return !this.list.hidden;
  }

  hide() {
    this.list.hidden = true;
    this.area.removeAttribute("aria-activedescendant");
  }

  word() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    if (this.hasArguments(before)) return { sign: "argument", query: before, start: before.length };
    const found = before.match(/(^|\s)([/@#])([^\s]*)$/);
    if (!found) return null;
    const [, , sign, query] = found;
    if (sign === "/" && before.trim() !== `/${query}`) return null;
    return { sign, query, start: before.length - query.length - 1 };
  }

  /** The cursor stands behind the name of a command whose values a server knows. */
  hasArguments(before) {
    const name = before.match(/^\/(\S+)\s/)?.[1];
    return Boolean(name) && (this.info()?.commands ?? []).some((command) => command.source?.startsWith("mcp") && [command.name, ...(command.aliases ?? [])].includes(name));
  }

  async look() {
    const word = this.word();
    const turn = ++this.asked;
    if (!word) return this.hide();
    this.wake();
    const found = word.sign === "argument" ? [] : await this.find(word);
    if (!this.offer(turn, found)) return;
    const servers = (this.info()?.servers ?? []).some((server) => server.state === "ready");
    if (word.sign !== "argument" && !(word.sign === "@" && servers)) return;
    const before = this.area.value.slice(0, this.area.selectionStart);
    const answer = await this.agent(before).catch(() => null);
    const items = (answer?.items ?? []).map((item) => ({ name: item.label, text: item.detail, insert: item.insert, more: item.more, start: answer.start, icon: "tool" }));
    if (items.length && !this.moved) this.offer(turn, [...items, ...found].slice(0, 40));
  }

  /** False when something else was typed meanwhile. */
  offer(turn, items) {
    if (turn !== this.asked || !this.word()) return false;
    this.items = items;
    this.at = 0;
    this.moved = false;
    this.draw();
    return true;
  }

  /** What is listed was found for fewer letters: what does not fit any more goes away before the answer is there. */
  narrow({ sign, query }) {
    if (!this.open) return;
    this.items = this.items.filter((item) => item.name.startsWith(sign) && inOrder(query.toLowerCase(), item.name.slice(1).toLowerCase()));
    this.at = 0;
    this.draw();
  }

  async find({ sign, query }) {
    const info = this.info() ?? {};
    const fits = (text) => text.toLowerCase().includes(query.toLowerCase());
    const begins = (a, b) => Number(b.name.toLowerCase().startsWith(query.toLowerCase())) - Number(a.name.toLowerCase().startsWith(query.toLowerCase()));
    if (sign === "/") {
      return (info.commands ?? []).filter((command) => [command.name, ...(command.aliases ?? [])].some(fits)).sort(begins).slice(0, 40)
        .map((command) => ({ name: `/${command.name}`, text: command.description, hint: command.argument_hint, icon: "bolt" }));
    }
    if (sign === "#") {
      return (info.tools ?? []).filter(fits).slice(0, 40).map((name) => ({ name: `#${name}`, icon: "tool" }));
    }
    const agents = (info.agents ?? []).filter((name) => query && fits(name)).map((name) => ({ name: `@${name}`, text: t("subagent"), icon: "robot" }));
    const files = (await this.files(query).catch(() => [])).map((path) => ({ name: `@${path}`, icon: path.endsWith("/") ? "folder" : "file" }));
    return [...agents, ...files].slice(0, 40);
  }

  draw() {
    if (!this.items.length) return this.hide();
    fill(this.list, this.items.map((item, at) =>
      h(`div.completion-item${at === this.at ? ".on" : ""}`, { role: "option", id: `completion-${at}`, "aria-selected": String(at === this.at),
        onpointerdown: (event) => { event.preventDefault(); this.accept(at); } },
        icon(item.icon), h("span.completion-name", {}, item.name, item.hint ? h("em", {}, ` ${item.hint}`) : null), item.text ? h("small", {}, item.text) : null)));
    this.list.hidden = false;
    this.area.setAttribute("aria-activedescendant", `completion-${this.at}`);
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  accept(at = this.at) {
    const word = this.word();
    const item = this.items[at];
    if (!word || !item) return this.hide();
    const end = this.area.selectionStart;
    const again = item.more ?? item.name.endsWith("/");
    const text = item.insert ?? item.name + (again ? "" : " ");
    this.area.setRangeText(text, item.start ?? word.start, end, "end");
    this.area.dispatchEvent(new Event("input", { bubbles: true }));
    if (!again && word.sign !== "argument") this.hide();
  }

  /** True when the key was for the list. */
  key(event) {
    if (!this.open) return false;
    const word = this.word();
    // An argument may be left out or be something that the server does not list: Enter sends what is typed.
    if (event.key === "Enter" && word?.sign === "argument" && !this.moved) {
      this.hide();
      return false;
    }
    if (event.key === "Enter" && word && this.items[this.at]?.name === word.sign + word.query) {
      this.hide();
      return false;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) this.moved = true;
    if (step) this.at = (this.at + step + this.items.length) % this.items.length;
    else if (event.key === "Enter" || event.key === "Tab") this.accept();
    else if (event.key === "Escape") this.hide();
    else return false;
    if (step) this.draw();
    event.preventDefault();
    event.stopPropagation();
    return true;
  }
}

/** Whether the letters of `query` stand in `text`, in this order. */
function inOrder(query, text) {
  let at = 0;
  for (const letter of query) {
    at = text.indexOf(letter, at) + 1;
    if (!at) return false;
  }
  return true;
}
