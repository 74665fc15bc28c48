// A form from a flat JSON schema, as MCP servers ask with.

import { h } from "./dom.js";
import { t } from "./i18n.js";

/** `give(content)` gets the values, once they fit the schema. */
export function inputForm(schema, give) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => field(name, property, required.has(name)));
  return h("form.ask-form", { onsubmit: (event) => {
    event.preventDefault();
    const content = {};
    for (const { name, value } of fields) {
      const found = value();
      if (found !== undefined) content[name] = found;
    }
    give(content);
  } }, fields.map(({ element }) => element));
}

function field(name, property, required) {
  const { control, value } = controlFor(property, required);
  const label = h("span", {}, property.title || name, required ? h("em", {}, ` ${t("ask.required")}`) : null);
  const note = property.description ? h("small", {}, property.description) : null;
  const row = property.type === "boolean" ? h("label.field.check", {}, control, label, note) : h("label.field", {}, label, control, note);
  return { name, value, element: row };
}

function controlFor(property, required) {
  if (property.type === "boolean") {
    const control = h("input", { type: "checkbox", checked: Boolean(property.default) });
    return { control, value: () => control.checked };
  }
  const many = property.type === "array";
  const options = choices(many ? (property.items ?? {}) : property);
  if (options) {
    const control = h("select", { multiple: many, required }, required || many ? null : h("option", { value: "" }, "–"),
      options.map(([option, title]) => h("option", { value: option, selected: many ? (property.default ?? []).includes(option) : option === property.default }, title)));
    return { control, value: () => (many ? [...control.selectedOptions].map((option) => option.value) : control.value || undefined) };
  }
  if (property.type === "integer" || property.type === "number") {
    const step = property.type === "integer" ? "1" : "any";
    const control = h("input", { type: "number", step, min: property.minimum ?? "", max: property.maximum ?? "", required, value: property.default ?? "" });
    return { control, value: () => (control.value === "" ? undefined : Number(control.value)) };
  }
  const type = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" }[property.format] ?? "text";
  const control = h("input", { type, required, value: property.default ?? "", autocomplete: "off" });
  if (property.minLength) control.minLength = property.minLength;
  if (property.maxLength) control.maxLength = property.maxLength;
  if (property.pattern) control.pattern = property.pattern;
  return { control, value: () => control.value || undefined };
}

function choices(property) {
  if (property.enum) return property.enum.map((value, at) => [value, property.enumNames?.[at] ?? value]);
  const titled = property.oneOf ?? property.anyOf;
  return titled?.every((option) => "const" in option) ? titled.map((option) => [option.const, option.title ?? option.const]) : null;
}
