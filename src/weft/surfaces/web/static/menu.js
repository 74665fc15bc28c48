// Menus and dialogs: opened at a button or in the middle, walked with the arrows, closed with Escape.

import { button, h, icon } from "./dom.js";
import { t } from "./i18n.js";

let openMenu = null;

export function closeMenu() {
  openMenu?.close();
}

/** A menu at `anchor`. Items: {label, text, iconName, checked, disabled, act} or "---". */
export function showMenu(anchor, items, { label = "" } = {}) {
  const again = openMenu?.anchor === anchor;
  closeMenu();
  if (again) return;
  const entries = items.filter(Boolean).map((item) => (item === "---" ? h("hr") : entry(item)));
  const list = h("div.menu", { role: "menu", "aria-label": label }, entries);
  document.body.append(list);
  place(list, anchor);
  const close = () => {
    list.remove();
    document.removeEventListener("pointerdown", outside, true);
    anchor.setAttribute("aria-expanded", "false");
    openMenu = null;
  };
  const outside = (event) => !list.contains(event.target) && !anchor.contains(event.target) && close();
  document.addEventListener("pointerdown", outside, true);
  list.addEventListener("keydown", (event) => walk(event, list, () => (close(), anchor.focus())));
  anchor.setAttribute("aria-expanded", "true");
  openMenu = { anchor, close };
  (list.querySelector("[aria-checked=true]") ?? list.querySelector("button:not([disabled])"))?.focus();
}

function entry(item) {
  return h("button.menu-item", { type: "button", role: item.checked === undefined ? "menuitem" : "menuitemradio",
    "aria-checked": item.checked === undefined ? null : String(item.checked), disabled: item.disabled ?? false,
    onclick: (event) => {
      const anchor = openMenu?.anchor;
      closeMenu();
      if (!event.detail) anchor?.focus(); // Chosen from the keyboard: it goes on from where it was.
      item.act?.();
    } },
    item.iconName ? icon(item.iconName) : null,
    h("span.menu-words", {}, h("span", {}, item.label), item.text ? h("small", {}, item.text) : null),
    item.checked ? icon("check") : null);
}

function place(list, anchor) {
  const box = anchor.getBoundingClientRect();
  const size = list.getBoundingClientRect();
  const above = box.top > innerHeight - box.bottom;
  list.style.left = `${Math.max(8, Math.min(box.left, innerWidth - size.width - 8))}px`;
  if (above) list.style.bottom = `${innerHeight - box.top + 6}px`;
  else list.style.top = `${box.bottom + 6}px`;
  list.style.maxHeight = `${(above ? box.top : innerHeight - box.bottom) - 20}px`;
}

function walk(event, list, close) {
  const all = [...list.querySelectorAll("button:not([disabled])")];
  const at = all.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1, Tab: event.shiftKey ? -1 : 1 }[event.key];
  if (step) all[(at + step + all.length) % all.length]?.focus();
  else if (event.key === "Escape") close();
  else if (event.key.length === 1 && /\S/.test(event.key)) {
    const found = [...all.slice(at + 1), ...all].find((item) => item.textContent.toLowerCase().startsWith(event.key.toLowerCase()));
    found?.focus();
    return;
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

/** A dialog with a title and anything in it. Returns it; `closed` is called once. */
export function showDialog(title, body, { wide = false, closed = () => {} } = {}) {
  const dialog = h(`dialog.dialog${wide ? ".wide" : ""}`, { "aria-label": title },
    h("header.dialog-head", {}, h("h2", {}, title), button(t("close"), { iconName: "cross", kind: "quiet", onclick: () => dialog.close() })),
    h("div.dialog-body", {}, body));
  dialog.addEventListener("close", () => (dialog.remove(), closed()));
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Asks for one of several answers; gives its value, or null. */
export function choose(title, text, answers) {
  return new Promise((give) => {
    let value = null;
    const buttons = answers.map(({ label, value: own, kind = "" }) =>
      h(`button.answer${kind ? "." + kind : ""}`, { type: "button", onclick: () => { value = own; dialog.close(); } }, label));
    const body = h("div", {}, text ? (typeof text === "string" ? h("p", {}, text) : text) : null, h("div.ask-actions", {}, buttons));
    const dialog = showDialog(title, body, { closed: () => give(value) });
    buttons[0]?.focus();
  });
}

/** Asks for a line of text; gives it, or null. */
export function askText(title, value = "") {
  return new Promise((give) => {
    let result = null;
    const input = h("input.text-field", { type: "text", value, "aria-label": title });
    const form = h("form", { onsubmit: (event) => { event.preventDefault(); result = input.value.trim() || null; dialog.close(); } },
      input, h("div.ask-actions", {}, h("button.answer.primary", { type: "submit" }, t("ok")),
        h("button.answer", { type: "button", onclick: () => dialog.close() }, t("cancel"))));
    const dialog = showDialog(title, form, { closed: () => give(result) });
    input.focus();
    input.select();
  });
}

/** A sentence that comes and goes. */
let toasts = null;
export function toast(text, kind = "info") {
  toasts ??= document.body.appendChild(h("div.toasts", { role: "status", "aria-live": "polite" }));
  const made = h(`div.toast.${kind}`, {}, icon(kind === "error" ? "warn" : "info"), text);
  toasts.append(made);
  setTimeout(() => made.remove(), kind === "error" ? 7000 : 3000);
}

