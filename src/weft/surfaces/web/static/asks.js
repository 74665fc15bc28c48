// What the agent asks the person. Each card is answered from the keyboard as well: its answers have numbers.

import { add, button, fill, h, icon, setHtml } from "./dom.js";
import { dressCode } from "./blocks.js";
import { inputForm } from "./forms.js";
import { t } from "./i18n.js";
import { drawView } from "./views.js";

/** The card for an ask chunk. `send(type, fields)` answers it; `open(path)` shows a file. */
export function askCard(chunk, deps) {
  const make = { tool_confirmation: permission, user_question: question, plan_approval: plan, input_request: input };
  const card = make[chunk.type](chunk, deps);
  card.dataset.request = chunk.request_id;
  card.addEventListener("keydown", (event) => byKey(event, card));
  return card;
}

/** A digit chooses the answer with that number, unless something is being written. Escape is the last one: no. */
function byKey(event, card) {
  const writing = event.target.matches("textarea, input:not([type=radio]):not([type=checkbox]), select");
  if (event.key === "Escape") {
    event.preventDefault();
    if (writing && event.target.dataset.back !== undefined) return event.target.dispatchEvent(new Event("weft:back"));
    card.querySelector("[data-no]")?.click();
  } else if (event.key === "Enter" && event.target === card) {
    event.preventDefault();
    card.querySelector("form")?.requestSubmit();
  } else if (!writing && /^[1-9]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    const found = card.querySelector(`[data-key="${event.key}"]`);
    if (found) {
      event.preventDefault();
      found.click();
    }
  }
}

function answer(key, label, options = {}) {
  const { kind = "", ...rest } = options;
  return h(`button.answer${kind ? "." + kind : ""}`, { type: "button", "data-key": key, ...rest },
    h("kbd", { "aria-hidden": "true" }, key), h("span", {}, label));
}

function frame(kind, iconName, title, ...children) {
  return h(`section.ask.${kind}`, { role: "group", "aria-label": title, tabIndex: -1 },
    h("header.ask-head", {}, icon(iconName), h("h2", {}, title)), ...children);
}

function permission(chunk, { send, open, short, outside }) {
  const reply = (fields) => send("toolApproval", { requestId: chunk.request_id, ...fields });
  const diff = (chunk.views ?? []).find((view) => view.kind === "diff");
  const choice = chunk.hunks && diff ? new Set(diff.data.hunks.keys()) : null;
  const allow = answer("1", t("ask.allow"), { kind: "primary", onclick: () => grant("allow", "once") });
  const views = h("div.ask-preview", {}, (chunk.views ?? []).map((view) => drawView(view, { open, short, diff: { choice, chosen } })));
  const editor = h("textarea.ask-editor", { hidden: true, rows: 6, spellcheck: false, "aria-label": t("ask.edit") });
  const problem = h("p.ask-problem", { hidden: true, role: "alert" }, t("ask.edit.bad"));
  const edit = button(t("ask.edit"), { iconName: "edit", kind: "quiet", text: t("ask.edit"), onclick: startEditing });
  let command = false;

  function startEditing() {
    command = typeof chunk.input?.command === "string" && Object.keys(chunk.input).every((key) => ["command", "description", "timeout"].includes(key));
    editor.value = command ? chunk.input.command : JSON.stringify(chunk.input ?? {}, null, 2);
    editor.hidden = false;
    views.hidden = true;
    edit.hidden = true;
    editor.focus();
  }

  function edited() {
    if (editor.hidden) return null;
    if (command) return { ...chunk.input, command: editor.value };
    return JSON.parse(editor.value);
  }

  function grant(outcome, scope) {
    let input = null;
    try {
      input = edited();
    } catch {
      problem.hidden = false;
      return;
    }
    const some = choice && editor.hidden && choice.size < diff.data.hunks.length;
    reply({ outcome, scope, input, hunks: some ? [...choice].sort((a, b) => a - b) : null });
  }

  function chosen() {
    const count = diff.data.hunks.length;
    const all = choice.size === count;
    allow.lastChild.textContent = all ? t("ask.allow") : t("ask.allow.chosen", { chosen: choice.size, count });
  }

  const reason = h("input.ask-reason", { type: "text", placeholder: t("ask.reason"), "aria-label": t("ask.reason"),
    onkeydown: (event) => event.key === "Enter" && refuse(false) });
  const refuse = (stop) => reply({ outcome: "reject", reason: reason.value, stop });
  const scopes = scopeAnswers(chunk, (scope) => grant("alwaysAllow", scope));
  const actions = h("div.ask-actions", {}, allow, scopes.buttons,
    answer(String(scopes.buttons.length + 2), t("ask.reject"), { kind: "no", "data-no": "", onclick: () => refuse(false) }));

  return frame("permission", "shield", short(chunk.title || chunk.name),
    h("div.ask-sub", {}, h("span.badge", {}, chunk.name), chunk.parent ? h("span.badge", {}, t("subagent")) : null,
      chunk.reason ? h("span.ask-why", {}, short(chunk.reason)) : null),
    chunk.blocked_path && outside(chunk.blocked_path) ? h("p.ask-problem", {}, t("ask.path", { path: chunk.blocked_path })) : null,
    views, editor, problem, scopes.rules, actions,
    h("div.ask-foot", {}, reason, button(t("ask.reject.stop"), { kind: "quiet", iconName: "stop", text: t("ask.reject.stop"), onclick: () => refuse(true) }), edit));
}

/** An answer for each scope, and a line that says which rule it writes where: that of the answer looked at last. */
function scopeAnswers(chunk, choose) {
  const all = chunk.suggestions ?? [];
  if (!all.length) return { buttons: [], rules: null };
  const rulesFor = (scope) => {
    const own = all.filter((suggestion) => suggestion.destination === scope);
    return [...new Set((own.length ? own : all).map((suggestion) => suggestion.rule))];
  };
  const says = h("p.ask-rule", { role: "status" });
  const tell = (scope) => fill(says, t("ask.rule.longer"), " ", rulesFor(scope).map((rule) => [h("code", {}, rule), " "]), t("ask.rule.to", { place: t(`ask.place.${scope}`) }));
  tell("session");
  const buttons = ["session", "local", "user"].map((scope, at) =>
    answer(String(at + 2), t(`ask.${scope}`), { onclick: () => choose(scope), onfocus: () => tell(scope), onmouseenter: () => tell(scope),
      title: `${t("ask.rule")} ${rulesFor(scope).join(", ")} ${t("ask.rule.to", { place: t(`ask.place.${scope}`) })}` }));
  return { buttons, rules: says };
}

function question(chunk, { send }) {
  const reply = (fields) => send("questionAnswer", { requestId: chunk.request_id, ...fields });
  const fields = chunk.questions.map((each, number) => questionField(each, number, chunk.questions.length === 1));
  const form = h("form.ask-form", { onsubmit: (event) => {
    event.preventDefault();
    const answers = {};
    for (const field of fields) answers[field.text] = field.value();
    if (Object.values(answers).every(Boolean)) reply({ answers });
  } }, fields.map((field) => field.element),
    h("div.ask-actions", {},
      h("button.answer.primary", { type: "submit" }, h("span", {}, t("ask.submit"))),
      h("button.answer.no", { type: "button", "data-no": "", onclick: () => reply({ declined: true }) }, h("span", {}, t("ask.decline")))));
  return frame("question", "question", t("ask.question"), form);
}

function questionField(each, number, alone) {
  const name = `question-${number}-${Math.random().toString(36).slice(2)}`;
  const kind = each.multiple ? "checkbox" : "radio";
  const other = h("input.other", { type: "text", "aria-label": t("ask.other"), placeholder: t("ask.other") });
  const inputs = (each.options ?? []).map((option, at) => {
    const box = h("input", { type: kind, name, value: option.label, "data-key": alone ? String(at + 1) : null });
    return { box, row: h("label.option", {}, box, alone ? h("kbd", {}, String(at + 1)) : null, h("span", {}, h("strong", {}, option.label), option.description ? h("small", {}, option.description) : null)) };
  });
  other.addEventListener("input", () => { if (!each.multiple) for (const { box } of inputs) box.checked = false; });
  const element = h("fieldset", {}, h("legend", {}, each.header ? h("span.badge", {}, each.header) : null, each.question),
    inputs.map(({ row }) => row), each.free_text === false ? null : other);
  const value = () => [...inputs.filter(({ box }) => box.checked).map(({ box }) => box.value), other.value.trim()].filter(Boolean).join(", ");
  return { text: each.question, element, value };
}

function plan(chunk, { send }) {
  const reply = (option, feedback = "") => send("planApproval", { requestId: chunk.request_id, option, feedback });
  const body = h("div.prose.plan-text", { tabIndex: 0 });
  setHtml(body, chunk.html ?? "");
  dressCode(body);
  const feedback = h("textarea.ask-reason", { rows: 2, placeholder: t("ask.plan.feedback.hint"), "aria-label": t("ask.plan.feedback.hint"),
    onkeydown: (event) => {
      if (event.key === "Enter" && !event.shiftKey && feedback.value.trim()) {
        event.preventDefault();
        reply("feedback", feedback.value.trim());
      }
    } });
  const sendFeedback = answer("4", t("ask.plan.feedback"), { onclick: () => (feedback.value.trim() ? reply("feedback", feedback.value.trim()) : feedback.focus()) });
  return frame("plan", "list", t("ask.plan"), body, feedback,
    h("div.ask-actions", {},
      answer("1", t("ask.plan.smart"), { kind: "primary", onclick: () => reply("smart") }),
      answer("2", t("ask.plan.default"), { onclick: () => reply("default") }),
      answer("3", t("ask.plan.keep"), { kind: "no", "data-no": "", onclick: () => reply("keep") }), sendFeedback));
}

function input(chunk, { send, leave }) {
  const reply = (action, content = null) => send("inputAnswer", { requestId: chunk.request_id, action, content });
  const no = h("button.answer.no", { type: "button", "data-no": "", onclick: () => reply("decline") }, h("span", {}, t("ask.decline")));
  const asks = Object.keys(chunk.schema?.properties ?? {}).length > 0;
  if (chunk.url && asks) {
    // A login: the page that the browser ends at may have to be pasted, so the card stays until the person is back.
    const visit = h("button.answer", { type: "button", onclick: () => leave(chunk.url) }, h("span", {}, t("ask.input.open")));
    const back = inputForm(chunk.schema, (content) => reply("accept", content));
    add(back, h("div.ask-actions", {}, visit, h("button.answer.primary", { type: "submit" }, h("span", {}, t("ask.input.send"))), no));
    return frame("input", "plug", t("ask.input", { server: chunk.server }), h("p", {}, chunk.message), h("code.address", {}, chunk.url), back);
  }
  if (chunk.url) {
    return frame("input", "plug", t("ask.input", { server: chunk.server }), h("p", {}, chunk.message), h("code.address", {}, chunk.url),
      h("div.ask-actions", {}, h("button.answer.primary", { type: "button", onclick: () => { leave(chunk.url); reply("accept"); } }, h("span", {}, t("ask.input.open"))), no));
  }
  const form = inputForm(chunk.schema ?? {}, (content) => reply("accept", content));
  add(form, h("div.ask-actions", {}, h("button.answer.primary", { type: "submit" }, h("span", {}, t("ask.input.send"))), no));
  return frame("input", "plug", t("ask.input", { server: chunk.server }), h("p", {}, chunk.message), form);
}
