// Text, thinking and the person's own messages, as they grow.

import { add, button, copyText, h, icon, setHtml } from "./dom.js";
import { seconds, t } from "./i18n.js";

/** A text block: finished pieces are put in once and never touched again; only the open piece at the end changes. */
export class TextBlock {
  constructor() {
    this.tail = h("div.tail");
    this.element = h("div.item.prose", {}, this.tail);
  }

  take(chunk) {
    for (const html of chunk.html ?? []) {
      const before = this.tail.previousElementSibling;
      const holder = document.createElement("template");
      setHtml(holder, html);
      dressCode(holder.content);
      this.element.insertBefore(holder.content, this.tail);
      if (before === null) this.element.classList.add("begun");
    }
    if (chunk.tail !== undefined && chunk.tail !== null) setHtml(this.tail, chunk.tail);
    if (chunk.text) this.grow(chunk.text);
    if (chunk.done) {
      this.tail.remove();
      this.element.classList.add("done");
    }
  }

  /** More of what is open: into the code at the end if it is code, else into its last paragraph. */
  grow(text) {
    const last = this.tail.lastElementChild;
    const place = last?.matches("pre") ? (last.querySelector("code") ?? last) : (last ?? this.tail);
    const node = place.lastChild;
    if (node?.nodeType === Node.TEXT_NODE) node.appendData(text);
    else place.append(text);
  }
}

/** Gives each piece of finished code a head with its language and a button that copies it. */
export function dressCode(root) {
  for (const pre of root.querySelectorAll("pre.code")) {
    const code = pre.querySelector("code");
    const head = h("div.code-head", {}, h("span", {}, code?.dataset.language || ""));
    head.append(button(t("message.copy"), { iconName: "copy", kind: "quiet", onclick: (event) => copyText(code.textContent, event.currentTarget) }));
    const frame = h("div.code-frame");
    pre.replaceWith(frame);
    frame.append(head, pre);
  }
}

export class ThinkingBlock {
  constructor() {
    this.label = h("span.thinking-label.shimmer", {}, t("thinking.now"));
    this.body = h("div.thinking-body");
    this.element = h("details.item.thinking", {}, h("summary", {}, icon("brain"), this.label, icon("chevron")), this.body);
  }

  take(chunk) {
    if (chunk.type === "thinking_content") this.body.append(chunk.text);
    if (chunk.type === "thinking_end") {
      this.label.classList.remove("shimmer");
      const known = chunk.seconds > 0.05;
      this.label.textContent = known ? t("thinking.done", { time: seconds(chunk.seconds) }) : t("thinking.plain");
    }
  }
}

/** What the person said. `act(name, chunk)` does what its buttons say. */
export function userMessage(chunk, act) {
  const body = h("div.prose");
  setHtml(body, chunk.html);
  dressCode(body);
  const pictures = (chunk.images ?? []).map((image) =>
    h("button.thumb", { type: "button", "aria-label": t("message.enlarge"), "aria-expanded": "false", onclick: (event) => enlarge(event.currentTarget) },
      h("img", { src: `data:${image.media_type};base64,${image.data}`, alt: "" })),
  );
  const documents = (chunk.documents ?? []).map((name) => h("span.chip", {}, icon("file"), name));
  const actions = h("div.message-actions", { role: "group" },
    button(t("message.copy"), { iconName: "copy", kind: "quiet", onclick: (event) => copyText(chunk.text, event.currentTarget) }),
    button(t("message.rewind"), { iconName: "back", kind: "quiet", onclick: () => act("rewind", chunk) }),
    button(t("message.fork"), { iconName: "fork", kind: "quiet", onclick: () => act("fork", chunk) }),
  );
  const element = h(`article.item.user${chunk.synthetic ? ".synthetic" : ""}`, { "aria-label": t("message.yours") });
  if (pictures.length || documents.length) add(element, h("div.attached", {}, pictures, documents));
  return add(element, body, chunk.synthetic ? null : actions);
}

function enlarge(thumb) {
  thumb.setAttribute("aria-expanded", String(thumb.classList.toggle("large")));
}

/** One quiet line between messages. */
export function line(kind, text, iconName = "info") {
  return h(`div.item.line.${kind}`, { role: kind === "error" ? "alert" : "note" }, icon(iconName), h("span", {}, text));
}
