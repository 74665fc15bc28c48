// The page's own words, in English and Chinese. What agents and tools say is shown as it is.

import { english } from "./words-en.js";
import { recall, remember } from "./memory.js";
import { chinese } from "./words-zh.js";

const languages = { en: english, zh: chinese };
let current = pick();

function pick() {
  const kept = recall("weft.language");
  if (kept in languages) return kept;
  return navigator.language?.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const language = () => current;

export function setLanguage(name) {
  remember("weft.language", name);
  const again = new URL(location.href);
  again.searchParams.set("lang", name);
  location.replace(again);
}

/** The words for `key`; `{name}` in them is replaced from `values`. A key without words is shown as it is. */
export function t(key, values = {}) {
  const words = languages[current][key] ?? english[key] ?? key;
  return words.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

export function applyLanguage() {
  document.documentElement.lang = current === "zh" ? "zh-CN" : "en";
}

const units = new Intl.NumberFormat(current === "zh" ? "zh-CN" : "en", { notation: "compact", maximumFractionDigits: 1 });
export const short = (number) => units.format(number);
export const money = (dollars) => (dollars >= 0.995 || dollars === 0 ? `$${dollars.toFixed(2)}` : `$${dollars.toPrecision(2)}`);

export function seconds(value) {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

const relative = new Intl.RelativeTimeFormat(current === "zh" ? "zh-CN" : "en", { numeric: "auto", style: "short" });
export function ago(time) {
  const past = time - Date.now() / 1000;
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(past) >= size) return relative.format(Math.round(past / size), unit);
  }
  return t("now");
}
