// A tool call as a card: what it is, its output while it runs, and how it ended.

import { add, button, fill, h, icon } from "./dom.js";
import { seconds, t } from "./i18n.js";
import { drawView } from "./views.js";

const ICONS = {
  read: "eye", edit: "edit", delete: "trash", move: "file", search: "search", execute: "terminal",
  think: "brain", fetch: "globe", switch_mode: "list", other: "tool",
};
const KINDS = {
  Read: "read", Edit: "edit", MultiEdit: "edit", Write: "edit", NotebookEdit: "edit", Bash: "execute", Grep: "search", Glob: "search",
  LS: "search", WebFetch: "fetch", WebSearch: "fetch", TodoWrite: "think",
};
const OPEN = new Set(["edit", "execute", "delete", "move"]);
const LINES = 400;
const FOLDED = 14;
const COLUMNS = 110;

export class ToolCard {
  /** `open(path)` shows a file; `stop(taskId)` ends a background task. */
  constructor(chunk, { open, stop, short }) {
    this.short = short;
    this.open = open;
    this.stop = stop;
    this.output = null;
    this.touched = false;
    this.iconSlot = h("span.tool-icon");
    this.name = h("span.tool-name");
    this.detail = h("span.tool-detail");
    this.state = h("span.tool-state");
    this.toggle = h("button.tool-head", { type: "button", "aria-expanded": "false", onclick: () => this.show(!this.shown, true) },
      this.iconSlot, this.name, this.detail, this.state, icon("chevron"));
    this.about = h("div.tool-about");
    this.result = h("div.tool-result");
    this.children = h("div.tool-children");
    this.body = h("div.tool-body", { hidden: true }, this.about, this.children, this.result);
    this.element = h("section.item.tool", { "aria-label": chunk.name }, this.toggle, this.body);
    this.shown = false;
    this.take(chunk);
  }

  show(on, byHand = false) {
    if (byHand) this.touched = true;
    if (!byHand && this.touched) return;
    this.shown = on;
    this.body.hidden = !on;
    this.toggle.setAttribute("aria-expanded", String(on));
  }

  take(chunk) {
    if (chunk.type === "tool_start") this.start(chunk);
    else if (chunk.type === "tool_output") this.more(chunk);
    else if (chunk.type === "tool_end") this.end(chunk);
    else if (chunk.type === "task") this.task(chunk.task);
    else if (chunk.type === "plan") this.plan(chunk);
  }

  start(chunk) {
    this.kind = chunk.kind ?? KINDS[chunk.name] ?? "other";
    this.began ??= performance.now();
    fill(this.iconSlot, icon(this.isAgent(chunk) ? "robot" : ICONS[this.kind]));
    this.name.textContent = label(chunk);
    this.detail.textContent = this.short(detail(chunk));
    this.detail.title = this.detail.textContent;
    this.setState(chunk.state ?? "pending");
    // A short command is whole in the head already.
    const command = chunk.input?.command;
    const told = typeof command === "string" && command.length < 90 && !command.includes("\n");
    fill(this.about, (told ? [] : (chunk.views ?? [])).map((view) => drawView(view, { open: this.open, short: this.short })));
    // A call that waits is shown whole where it is asked for, not twice.
    if (chunk.state === "running" && (OPEN.has(this.kind) || this.isAgent(chunk))) this.show(true);
  }

  isAgent(chunk) {
    return chunk.name === "Task" || chunk.name === "Agent";
  }

  setState(state, extra = "") {
    this.element.dataset.state = state;
    const live = state === "running" || state === "streaming";
    fill(this.state, live ? h("span.spinner", { "aria-hidden": "true" }) : state === "completed" ? icon("check") : state === "pending" ? null : icon("cross"));
    add(this.state, h("span.tool-word", {}, extra || (state === "completed" ? "" : t(`tool.${state}`))));
    this.state.setAttribute("aria-label", `${t(`tool.${state}`)} ${extra}`);
  }

  more(chunk) {
    this.setState("running", chunk.message || (chunk.fraction ? `${Math.round(chunk.fraction * 100)} %` : ""));
    if (!chunk.text) return;
    if (!this.output) {
      this.output = h("pre.output.live", { tabIndex: 0, "aria-live": "off" });
      this.result.append(this.output);
      this.show(true);
    }
    const stuck = this.output.scrollTop + this.output.clientHeight >= this.output.scrollHeight - 8;
    this.output.append(chunk.text);
    if (this.output.childNodes.length > LINES) this.output.firstChild.remove();
    if (stuck) this.output.scrollTop = this.output.scrollHeight;
  }

  end(chunk) {
    const bits = [];
    if (chunk.exit_code !== undefined && chunk.exit_code !== null && chunk.exit_code !== 0) bits.push(t("tool.exit", { code: chunk.exit_code }));
    if (chunk.status && chunk.status !== "completed") bits.push(t(`tool.${chunk.status}`));
    if (chunk.duration >= 0.1) bits.push(seconds(chunk.duration));
    this.setState(chunk.status ?? "completed", bits.join(" · "));
    const views = chunk.views ?? [];
    if (views.some((view) => view.kind === "diff")) fill(this.about);
    fill(this.result, views.map((view) => drawView(view, { open: this.open, short: this.short })));
    this.output = null;
    for (const pre of this.result.querySelectorAll("pre.output")) foldLong(pre);
    const app = views.some((view) => view.kind === "app");
    this.show(app || OPEN.has(this.kind) || this.children.childElementCount > 0 || chunk.status === "error");
  }

  task(task) {
    const running = task.state === "running";
    const stop = button(t("tool.stop"), { iconName: "stop", kind: "quiet", onclick: () => this.stop(task.id) });
    this.taskLine ??= this.body.insertBefore(h("div.tool-task"), this.children);
    fill(this.taskLine, h("span.badge", { "data-color": task.color || null }, task.agent || task.kind), task.description, running ? stop : null,
      task.tool_uses ? h("span.muted", {}, `${task.tool_uses} × ${task.last_tool ?? ""}`) : null);
  }

  plan(chunk) {
    this.planBox ??= this.body.insertBefore(h("div.tool-plan"), this.result);
    fill(this.planBox, drawView({ kind: "todos", data: chunk.entries }));
  }
}

/** Told from the text, not from its height: asking for that would lay out what nobody looks at yet. */
function foldLong(pre) {
  let rows = 0;
  for (const line of pre.textContent.split("\n")) rows += 1 + Math.floor(line.length / COLUMNS);
  if (rows <= FOLDED) return;
  pre.classList.add("folded");
  const more = h("button.fold", { type: "button", "aria-expanded": "false", onclick: () => {
    const folded = pre.classList.toggle("folded");
    more.textContent = t(folded ? "tool.more" : "tool.less");
    more.setAttribute("aria-expanded", String(!folded));
  } }, t("tool.more"));
  pre.after(more);
}

function label(chunk) {
  const name = chunk.name.startsWith("mcp__") ? chunk.name.slice(5).replace("__", " · ") : chunk.name;
  return name;
}

function detail(chunk) {
  const input = chunk.input ?? {};
  for (const key of ["command", "file_path", "path", "pattern", "url", "query", "description", "notebook_path"]) {
    if (typeof input[key] === "string") return input[key].split("\n")[0];
  }
  return chunk.title && chunk.title !== chunk.name ? chunk.title : "";
}
