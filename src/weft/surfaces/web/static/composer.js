// Where the person writes: the message, what is attached, what waits, and the choices for the next turn.

import { add, button, fill, h, icon, svg } from "./dom.js";
import { Attachments } from "./attach.js";
import { Completion } from "./complete.js";
import { money, short, t } from "./i18n.js";
import { askText, showMenu } from "./menu.js";
import { todoList } from "./views.js";

export const MODES = ["default", "acceptEdits", "plan", "smart", "dontAsk", "bypassPermissions"];

export class Composer {
  /** `deps`: socket, transcript() (the one shown), send(type, fields) and ask(type, fields) in that conversation. */
  constructor(deps) {
    this.deps = deps;
    this.context = null;
    this.contextOn = true;
    this.area = h("textarea", { rows: 1, "aria-label": t("compose.label"), spellcheck: true,
      oninput: () => this.grow(), onkeydown: (event) => this.key(event), onpaste: (event) => this.paste(event) });
    this.attachments = new Attachments(deps.socket, () => this.draw());
    // An app may propose a prompt; it stands in the empty box, and the person sends it or not.
    document.addEventListener("weft-suggest", (event) => { if (!this.area.value) this.setText(event.detail); });
    this.completion = new Completion(this.area, {
      info: () => deps.transcript()?.info,
      files: (query) => deps.socket.ask("listWorkspaceFiles", { query, limit: 40 }),
      agent: (text) => deps.ask("completePrompt", { text }),
      wake: () => this.wake(),
    });
    this.mode = h("button.picker-button", { type: "button", "aria-haspopup": "menu", onclick: () => this.pickMode() });
    this.model = h("button.picker-button", { type: "button", "aria-haspopup": "menu", onclick: () => this.pickModel() });
    this.think = h("button.picker-button", { type: "button", "aria-haspopup": "menu", onclick: () => this.pickThinking() });
    this.meter = h("button.meter", { type: "button", "aria-haspopup": "menu", onclick: () => this.showMeter() });
    this.chip = h("button.chip.context", { type: "button", hidden: true, onclick: () => { this.contextOn = !this.contextOn; this.draw(); } });
    this.go = button(t("compose.send"), { iconName: "send", kind: "send", onclick: () => this.submit() });
    this.stop = button(t("compose.stop"), { iconName: "stop", kind: "send.stop", hidden: true, onclick: () => this.deps.send("cancelCurrent") });
    this.queue = h("div.queue", { hidden: true, role: "list", "aria-label": t("queue.title") });
    this.plan = h("details.plan-strip", { hidden: true });
    this.box = h("div.composer-box", {}, this.completion.list, this.attachments.element, this.area, this.attachments.input,
      h("div.composer-bar", {}, this.attachments.button, this.mode, this.model, this.think, this.chip, h("span.stretch"), this.meter, this.stop, this.go));
    this.element = h("div.composer", {}, this.plan, this.queue, this.box);
    this.drops();
    this.draw();
  }

  focus() {
    this.area.focus();
  }

  wake() {
    const transcript = this.deps.transcript();
    if (transcript && !transcript.info?.agent_version && !transcript.woken) {
      transcript.woken = true;
      this.deps.send("wakeAgent");
    }
  }

  grow() {
    this.area.style.height = "auto";
    this.area.style.height = `${Math.min(this.area.scrollHeight, innerHeight * 0.4)}px`;
    if (this.area.value) this.wake();
    this.draw();
  }

  key(event) {
    if (event.isComposing || this.completion.key(event)) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.submit(event.ctrlKey || event.metaKey);
    } else if (event.key === "Escape" && this.deps.transcript()?.running) {
      event.preventDefault();
      this.deps.send("cancelCurrent");
    } else if (event.key === "Tab" && event.shiftKey) {
      event.preventDefault();
      this.nextMode();
    } else if (event.key === "ArrowUp" && !this.area.value) {
      const last = this.deps.transcript()?.queue.at(-1);
      if (last) this.editQueued(last);
    }
  }

  submit(steer = false) {
    const text = this.area.value.trim();
    if (!text && !this.attachments.items.length) return;
    const attachments = this.attachments.take().map(({ url, ...item }) => item);
    this.deps.send("sendMessage", { text, attachments, steer, context: this.contextOn });
    this.setText("");
  }

  setText(text) {
    this.area.value = text;
    this.completion.hide();
    this.grow();
  }

  paste(event) {
    const files = [...(event.clipboardData?.files ?? [])];
    if (!files.length) return;
    event.preventDefault();
    this.attachments.addFiles(files);
  }

  drops() {
    let depth = 0;
    const veil = h("div.drop-veil", { hidden: true }, icon("clip"), t("compose.drop"));
    document.body.append(veil);
    const show = (on) => (veil.hidden = !on);
    addEventListener("dragenter", (event) => { if (event.dataTransfer?.types.includes("Files")) show(++depth > 0); });
    addEventListener("dragleave", () => { if (depth > 0) show(--depth > 0); });
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      depth = 0;
      show(false);
      if (event.dataTransfer?.files.length) this.attachments.addFiles(event.dataTransfer.files);
    });
  }

  // --- choices --------------------------------------------------------------------------------------------

  pickMode() {
    const info = this.deps.transcript()?.info ?? {};
    const modes = info.modes?.length ? MODES.filter((mode) => info.modes.includes(mode)) : MODES;
    showMenu(this.mode, modes.map((mode) => ({ label: t(`mode.${mode}`), text: t(`mode.${mode}.text`), checked: (info.mode ?? "default") === mode,
      act: () => this.deps.send("setMode", { mode }) })), { label: t("mode") });
  }

  nextMode() {
    const info = this.deps.transcript()?.info ?? {};
    const modes = ["default", "acceptEdits", "plan", "smart"].filter((mode) => !info.modes?.length || info.modes.includes(mode));
    const next = modes[(modes.indexOf(info.mode ?? "default") + 1) % modes.length];
    this.deps.send("setMode", { mode: next });
  }

  pickModel() {
    this.wake();
    const info = this.deps.transcript()?.info ?? {};
    const models = (info.models ?? []).map((model) => ({ label: model.name || model.id, text: model.description || (model.context_window ? short(model.context_window) : ""),
      checked: model.id === info.model, act: () => this.deps.send("setModel", { model: model.id }) }));
    showMenu(this.model, [{ label: t("model.default"), checked: !info.model, act: () => this.deps.send("setModel", { model: null }) }, models.length ? "---" : null, ...models], { label: t("model") });
  }

  pickThinking() {
    const thinking = this.deps.transcript()?.info?.thinking ?? {};
    const on = (thinking.kind ?? "disabled") !== "disabled";
    const set = (think, effort = null) => () => this.deps.send("setThink", { think, effort });
    showMenu(this.think, [
      { label: t("think.off"), checked: !on, act: set(false) },
      { label: t("think.on"), checked: on && !thinking.effort, act: set(true) },
      ...["low", "medium", "high"].map((effort) => ({ label: t(`think.${effort}`), checked: on && thinking.effort === effort, act: set(true, effort) })),
    ], { label: t("think") });
  }

  showMeter() {
    const usage = this.deps.transcript()?.usage;
    if (!usage) return;
    const sum = usage.usage ?? {};
    const row = (label, text) => ({ label, text, disabled: true });
    showMenu(this.meter, [
      row(t("meter.context"), `${short(usage.context_tokens ?? 0)} / ${short(usage.context_window ?? 0)}`),
      row(t("meter.cost"), money(usage.total_cost ?? 0)),
      row(t("meter.tokens"), `${short(sum.input_tokens ?? 0)} ${t("meter.input")} · ${short(sum.output_tokens ?? 0)} ${t("meter.output")} · ${short(sum.cache_read_input_tokens ?? 0)} ${t("meter.cache")}`),
      "---", { label: t("meter.compact"), iconName: "list", act: () => this.deps.send("compact") },
    ], { label: t("menu.usage") });
  }

  // --- what is shown --------------------------------------------------------------------------------------

  draw() {
    const transcript = this.deps.transcript();
    const info = transcript?.info ?? {};
    const running = Boolean(transcript?.running);
    this.area.placeholder = t(running ? "compose.hint.running" : "compose.hint");
    fill(this.mode, icon("shield"), h("span", {}, t(`mode.${info.mode ?? "default"}`)));
    this.mode.dataset.mode = info.mode ?? "default";
    this.mode.setAttribute("aria-label", `${t("mode")}: ${t(`mode.${info.mode ?? "default"}`)}`);
    const named = (info.models ?? []).find((model) => model.id === info.model);
    fill(this.model, h("span", {}, named?.name || info.model || t("model.default")));
    this.model.setAttribute("aria-label", `${t("model")}: ${this.model.textContent}`);
    const thinks = (info.thinking?.kind ?? "disabled") !== "disabled";
    fill(this.think, icon("brain"));
    this.think.classList.toggle("on", thinks);
    this.think.title = t(thinks ? "think.on" : "think.off");
    this.think.setAttribute("aria-label", this.think.title);
    const empty = !this.area.value.trim() && !this.attachments.items.length;
    this.stop.hidden = !running;
    this.go.hidden = running && empty;
    this.go.disabled = empty;
    this.drawMeter(transcript?.usage);
    this.drawContext();
    this.drawQueue(transcript?.queue ?? []);
    this.drawPlan(transcript?.plan ?? []);
  }

  drawMeter(usage) {
    const full = usage?.context_window ? Math.min(1, (usage.context_tokens ?? 0) / usage.context_window) : 0;
    this.meter.hidden = !usage?.context_window;
    const around = 2 * Math.PI * 8;
    const ring = svg("svg", { viewBox: "0 0 20 20", class: "ring", "aria-hidden": "true" },
      svg("circle", { cx: 10, cy: 10, r: 8 }), svg("circle", { cx: 10, cy: 10, r: 8, class: full > 0.8 ? "full high" : "full", "stroke-dasharray": `${full * around} ${around}` }));
    fill(this.meter, ring, h("span", {}, usage?.total_cost ? money(usage.total_cost) : `${Math.round(full * 100)}%`));
    this.meter.setAttribute("aria-label", t("meter", { percent: `${Math.round(full * 100)}%` }));
    this.meter.title = this.meter.getAttribute("aria-label");
  }

  drawContext() {
    const selection = this.context?.selection;
    const name = selection ? `${selection.fileName}:${selection.lineStart}–${selection.lineEnd}` : this.context?.activeFile?.name;
    this.chip.hidden = !name;
    if (!name) return;
    fill(this.chip, icon("file"), h("span", {}, name));
    this.chip.classList.toggle("off", !this.contextOn);
    this.chip.setAttribute("aria-pressed", String(this.contextOn));
    this.chip.title = t(this.contextOn ? "context.on" : "context.off");
  }

  drawQueue(prompts) {
    this.queue.hidden = !prompts.length;
    fill(this.queue, prompts.map((prompt) =>
      h("div.queued", { role: "listitem" }, h("span.badge", {}, t("queue.title")), h("span.queued-text", {}, prompt.text),
        button(t("queue.edit"), { iconName: "edit", kind: "quiet", onclick: () => this.editQueued(prompt) }),
        button(t("queue.drop"), { iconName: "cross", kind: "quiet", onclick: () => this.deps.send("editQueued", { id: prompt.id, text: null }) }))));
  }

  async editQueued(prompt) {
    const text = await askText(t("queue.edit"), prompt.text);
    if (text !== null && text !== prompt.text) this.deps.send("editQueued", { id: prompt.id, text });
    this.focus();
  }

  drawPlan(entries) {
    const done = entries.filter((entry) => entry.status === "completed").length;
    this.plan.hidden = !entries.length || (done === entries.length && !this.deps.transcript()?.running);
    if (this.plan.hidden) return;
    const now = entries.find((entry) => entry.status === "in_progress");
    const bar = h("progress", { max: entries.length, value: done, "aria-label": t("todo.title") });
    const open = this.plan.open;
    fill(this.plan, add(h("summary"), icon("list"), h("strong", {}, t("todo.title")), bar, h("span.muted", {}, t("todo.done", { done, all: entries.length })),
      now ? h("span.plan-now", {}, now.active_form || now.content) : null, icon("chevron")), todoList(entries));
    this.plan.open = open;
  }
}
