// One conversation on the page: chunks in, elements out. Applying the same chunks always gives the same page.

import { appEnded } from "./apps.js";
import { announce, button, copyText, fill, h, icon } from "./dom.js";
import { line, TextBlock, ThinkingBlock, userMessage } from "./blocks.js";
import { money, seconds, short, t } from "./i18n.js";
import { ToolCard } from "./tools.js";

const ASKS = new Set(["tool_confirmation", "user_question", "plan_approval", "input_request"]);

export class Transcript {
  /** `deps`: act(name, chunk), open(path), stop(task), changed(), older(key). */
  constructor(id, deps) {
    this.id = id;
    this.deps = deps;
    this.log = h("div.log", { role: "log", "aria-live": "off", "aria-label": t("log.label") });
    this.top = h("button.older", { type: "button", hidden: true, onclick: () => this.askOlder() }, t("older"));
    this.element = h("div.transcript", {}, this.top, this.log);
    this.reset();
  }

  reset() {
    this.seq = 0;
    this.older = null;
    this.blocks = new Map();
    this.asks = new Map();
    this.info = this.info ?? null;
    this.usage = null;
    this.queue = [];
    this.plan = [];
    this.running = false;
    this.retrying = null;
    this.work = null;
    fill(this.log);
    this.top.hidden = true;
  }

  open(frame) {
    this.row = frame.row;
    if (frame.resumed) return;
    this.reset();
    this.seq = frame.seq;
    this.applyAll(frame.chunks ?? [], this.log);
    this.setOlder(frame.older);
    this.deps.changed(this);
  }

  /** Chunks that belong before everything that is shown. */
  prepend(frame) {
    const kept = [this.log, this.plan, this.asks, this.running, this.work];
    const part = h("div");
    this.applyAll(frame.chunks ?? [], part);
    [this.log, this.plan, this.asks, this.running, this.work] = kept;
    const scroller = this.element.parentElement;
    const before = scroller?.scrollHeight ?? 0;
    this.log.prepend(...part.childNodes);
    if (scroller) scroller.scrollTop += scroller.scrollHeight - before;
    this.setOlder(frame.older);
  }

  applyAll(chunks, place) {
    const log = this.log;
    const part = document.createDocumentFragment();
    this.log = part;
    for (const chunk of chunks) this.apply(chunk);
    this.log = log;
    place.append(part);
  }

  setOlder(key) {
    this.older = key ?? null;
    this.top.hidden = !this.older;
    this.asking = false;
  }

  askOlder() {
    if (!this.older || this.asking) return;
    this.asking = true;
    this.deps.older(this.older);
  }

  take(frame) {
    if (frame.seq <= this.seq) return;
    this.seq = frame.seq;
    this.apply(frame.chunk);
    this.deps.changed(this, frame.chunk);
  }

  place(chunk) {
    const card = chunk.parent ? this.blocks.get(`tool:${chunk.parent}`) : null;
    return card ? card.children : this.log;
  }

  block(key, chunk, make) {
    let block = this.blocks.get(key);
    if (!block) {
      block = make();
      this.blocks.set(key, block);
      this.place(chunk).append(block.element);
    }
    return block;
  }

  line(chunk, kind, text, iconName) {
    const made = line(kind, text, iconName);
    this.place(chunk).append(made);
    return made;
  }

  apply(chunk) {
    if (ASKS.has(chunk.type)) return this.asks.set(chunk.request_id, chunk);
    if (this.retrying && chunk.type !== "retry" && chunk.type !== "usage") this.retrying = void this.retrying.remove();
    const handler = this[`on_${chunk.type}`];
    if (handler) handler.call(this, chunk);
  }

  on_text(chunk) {
    this.block(`text:${chunk.id}`, chunk, () => new TextBlock()).take(chunk);
    if (chunk.done && this.running) announce(this.blocks.get(`text:${chunk.id}`).element.textContent.slice(0, 400));
  }

  on_thinking_start(chunk) {
    this.block(`thinking:${chunk.id}`, chunk, () => new ThinkingBlock());
  }

  on_thinking_content(chunk) {
    this.block(`thinking:${chunk.id}`, chunk, () => new ThinkingBlock()).take(chunk);
  }

  on_thinking_end(chunk) {
    this.blocks.get(`thinking:${chunk.id}`)?.take(chunk);
  }

  on_tool_start(chunk) {
    const known = this.blocks.get(`tool:${chunk.id}`);
    if (known) return known.take(chunk);
    this.block(`tool:${chunk.id}`, chunk, () => new ToolCard(chunk, this.deps));
  }

  on_tool_output(chunk) {
    this.blocks.get(`tool:${chunk.id}`)?.take(chunk);
  }

  on_tool_end(chunk) {
    if (!this.blocks.has(`tool:${chunk.id}`)) this.on_tool_start({ type: "tool_start", ...chunk, type: "tool_start", views: [] });
    this.blocks.get(`tool:${chunk.id}`).take(chunk);
    appEnded(chunk);
  }

  on_task(chunk) {
    this.blocks.get(`tool:${chunk.task.tool_use_id}`)?.take(chunk);
  }

  on_plan(chunk) {
    if (chunk.parent) this.blocks.get(`tool:${chunk.parent}`)?.take(chunk);
    else this.plan = chunk.entries ?? [];
  }

  on_user_message(chunk) {
    if (chunk.synthetic && !chunk.text) return;
    this.place(chunk).append(userMessage(chunk, this.deps.act));
  }

  on_turn_start() {
    this.running = true;
    this.since = Date.now();
  }

  on_turn_end(chunk) {
    this.running = false;
    const bits = [];
    if (chunk.reason && !["completed", "local_command"].includes(chunk.reason)) bits.push(t(`turn.${chunk.reason}`));
    if (chunk.duration > 0.5) bits.push(seconds(chunk.duration));
    if (chunk.steps > 1) bits.push(t("turn.steps", { steps: chunk.steps }));
    if (chunk.cost) bits.push(money(chunk.cost));
    const tokens = (chunk.usage?.input_tokens ?? 0) + (chunk.usage?.output_tokens ?? 0);
    if (tokens) bits.push(`${short(tokens)} ${t("meter.tokens").toLowerCase()}`);
    const reply = this.lastReply();
    const copy = reply ? button(t("message.reply"), { iconName: "copy", kind: "quiet", onclick: (event) => copyText(reply.innerText, event.currentTarget) }) : null;
    if (bits.length || copy) this.log.append(h("div.item.turn-end", {}, copy, bits.join("  ·  ")));
  }

  /** The last text of the turn that ends now. */
  lastReply() {
    for (let item = this.log.lastElementChild; item && !item.matches(".user, .turn-end"); item = item.previousElementSibling) {
      if (item.matches(".prose")) return item;
    }
    return null;
  }

  on_error(chunk) {
    this.line(chunk, "error", chunk.hint ? `${chunk.message} ${chunk.hint}` : chunk.message, "warn");
  }

  on_notice(chunk) {
    this.line(chunk, chunk.level ?? "info", chunk.text, chunk.level === "warning" ? "warn" : "info");
  }

  on_retry(chunk) {
    for (const id of chunk.discard ?? []) {
      for (const kind of ["text", "thinking"]) {
        this.blocks.get(`${kind}:${id}`)?.element.remove();
        this.blocks.delete(`${kind}:${id}`);
      }
    }
    this.retrying?.remove();
    const words = { attempt: chunk.attempt, most: chunk.max_retries, delay: seconds(chunk.delay), message: chunk.message ?? "" };
    this.retrying = this.line(chunk, "warning", t("retry", words), "back");
  }

  on_compaction(chunk) {
    this.compacting?.remove();
    const words = { before: short(chunk.before ?? 0), after: short(chunk.after ?? 0), message: chunk.message ?? "" };
    const made = this.line(chunk, "info", t(`compact.${chunk.state}`, words), "list");
    this.compacting = chunk.state === "started" ? made : null;
  }

  on_session(chunk) {
    this.info = chunk.info;
  }

  on_queue(chunk) {
    this.queue = chunk.prompts ?? [];
  }

  on_usage(chunk) {
    this.usage = chunk;
  }

  on_ask_closed(chunk) {
    const ask = this.asks.get(chunk.request_id);
    this.asks.delete(chunk.request_id);
    if (!ask) return;
    if (ask.type === "user_question") this.log.append(answered(ask, chunk));
    if (ask.type === "plan_approval") this.log.append(line("info", t(chunk.answer ? `answer.${chunk.answer}` : "answer.withdrawn"), "list"));
  }
}

function answered(ask, chunk) {
  const made = h("div.item.answered", {}, icon("question"));
  for (const question of ask.questions) made.append(h("span", {}, question.question));
  made.append(h("strong", {}, chunk.answer || t("answer.withdrawn")));
  return made;
}
