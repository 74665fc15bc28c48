// What a tool shows: each kind of view that the host sends.

import { appFrame } from "./apps.js";
import { h, icon, setHtml } from "./dom.js";
import { diffView } from "./diff.js";
import { t } from "./i18n.js";

/** `open(path)` shows a file of the workspace. `diff` has options for diffs. */
export function drawView(view, { open, short = (text) => text, diff = {} } = {}) {
  switch (view.kind) {
    case "diff":
      return diffView(view.data, { open, short, ...diff });
    case "code": {
      const pre = h("pre.output", { tabIndex: 0 });
      setHtml(pre, view.html);
      return pre;
    }
    case "image":
      return h("img.picture", { src: view.data.src, alt: "" });
    case "links":
      return h("ul.links", {}, view.data.map((link) =>
        h("li", {}, h("a", { href: link.target, class: "file-link" }, icon("file"), link.label))));
    case "todos":
      return todoList(view.data);
    case "app":
      return appFrame(view.data);
    case "exit":
      return view.data.signal || view.data.timedOut
        ? h("div.exit-note", {}, view.data.timedOut ? t("tool.timedout") : view.data.signal)
        : null;
    default: {
      const box = h("div.prose.view");
      setHtml(box, view.html ?? "");
      return box;
    }
  }
}

export function todoList(entries) {
  return h("ul.todos", {}, entries.map((entry) =>
    h(`li.todo.${entry.status ?? "pending"}`, {},
      h("span.todo-mark", { "aria-label": t(`plan.state.${entry.status ?? "pending"}`) }, entry.status === "completed" ? icon("check") : null),
      h("span", {}, entry.status === "in_progress" && entry.active_form ? entry.active_form : entry.content))));
}
