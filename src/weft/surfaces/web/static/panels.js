// The views beside the conversation: settings, MCP servers, permissions, usage, keys, a file.

import { button, fill, h, setHtml } from "./dom.js";
import { bars, columns } from "./charts.js";
import { money, short, t } from "./i18n.js";
import { choose, showDialog, toast } from "./menu.js";

export class Panels {
  /** `deps`: socket, transcript(), send(type, fields). */
  constructor(deps) {
    this.deps = deps;
  }

  async load(panel, title, draw) {
    const body = h("div.panel", {}, h("p.muted", {}, t("app.loading")));
    showDialog(title, body, { wide: true });
    const folder = this.deps.transcript()?.info?.cwd ?? "";
    try {
      const again = async () => fill(body, draw(await this.deps.socket.ask("getPanel", { panel, folder }), again));
      await again();
    } catch (error) {
      fill(body, h("p.muted", {}, error.message));
    }
  }

  usage() {
    return this.load("usage", t("menu.usage"), (data) => {
      if (!data.days?.length) return h("p.muted", {}, t("usage.none"));
      const tokens = (rows) => rows.map((row) => ({ label: row.name, value: row.tokens }));
      const dollars = (rows) => rows.map((row) => ({ label: row.name, value: row.cost }));
      const total = (key) => data.days.reduce((sum, row) => sum + row[key], 0);
      return [
        h("div.tiles", {}, tile(t("usage.tokens"), short(total("tokens"))), tile(t("usage.dollars"), money(total("cost")))),
        columns(`${t("usage.tokens")} · ${t("usage.day")}`, tokens(data.days)),
        columns(`${t("usage.dollars")} · ${t("usage.day")}`, dollars(data.days), { dollars: true }),
        h("div.columns", {}, bars(`${t("usage.tokens")} · ${t("usage.model")}`, tokens(data.models)), bars(`${t("usage.dollars")} · ${t("usage.model")}`, dollars(data.models), { dollars: true })),
        bars(`${t("usage.tokens")} · ${t("usage.conversation")}`, tokens(data.conversations)),
        bars(`${t("usage.dollars")} · ${t("usage.conversation")}`, dollars(data.conversations), { dollars: true }),
        h("p.muted", {}, t("usage.unknown")),
      ];
    });
  }

  permissions() {
    return this.load("permissions", t("menu.permissions"), (data, again) => {
      if (!data.rules?.length) return h("p.muted", {}, t("rules.none"));
      const folder = this.deps.transcript()?.info?.cwd ?? "";
      return ["deny", "ask", "allow"].map((behavior) => {
        const rules = data.rules.filter((rule) => rule.behavior === behavior);
        if (!rules.length) return null;
        return h("section", {}, h("h3", {}, t(`rules.${behavior}`)), h("ul.rules", {}, rules.map((rule) =>
          h(`li.rule.${behavior}`, {}, h("div", {}, h("code", {}, rule.rule), h("small.muted", { title: rule.origin }, `${t("rules.from")} ${rule.origin.replaceAll(`${folder}/`, "")}`)),
            rule.removable ? button(t("rules.remove"), { iconName: "trash", kind: "quiet", onclick: () =>
              this.deps.socket.ask("removeRule", { rule: rule.rule, behavior, layer: rule.layer, folder }).then(again, (error) => toast(error.message, "error")) }) : null))));
      });
    });
  }

  settings() {
    return this.load("settings", t("menu.settings"), (data, again) => {
      if (!data.settings?.length) return h("p.muted", {}, t("settings.none"));
      const folder = this.deps.transcript()?.info?.cwd ?? "";
      const layer = h("select", { "aria-label": t("settings.layer") }, ["user", "project", "local"].map((name) => h("option", { value: name }, t(`settings.layer.${name}`))));
      const save = (key, value) => this.deps.socket.ask("setSetting", { key, value, layer: layer.value, folder })
        .then(() => (toast(t("save")), again()), (error) => toast(error.message, "error"));
      return [h("label.field.inline", {}, t("settings.layer"), layer),
        data.settings.map((setting) => h("div.setting", {}, h("div", {}, h("strong", {}, setting.key), h("p.muted", {}, t(`setting.${setting.key}`)),
          setting.origin ? h("small.muted", {}, `${t("rules.from")} ${setting.origin}`) : null), settingControl(setting, save)))];
    });
  }

  servers() {
    const body = h("div.panel");
    this.opened = new Set((this.deps.transcript()?.info?.servers ?? []).filter((server) => server.error).map((server) => server.name));
    let drawn = "";
    const draw = () => {
      const info = this.deps.transcript()?.info;
      const servers = info?.servers ?? [];
      if (!servers.length) return fill(body, h("p.muted", {}, t(info?.agent_version ? "servers.none" : "servers.start")));
      const state = JSON.stringify(servers);
      if (state === drawn) return;
      drawn = state;
      fill(body, servers.map((server) => this.server(server)));
    };
    draw();
    const timer = setInterval(draw, 1000);
    showDialog(t("menu.servers"), body, { wide: true, closed: () => clearInterval(timer) });
  }

  server(server) {
    const act = (action) => () => this.deps.send("serverAction", { server: server.name, action });
    const off = server.state === "disabled";
    const opened = (event) => (event.target.open ? this.opened.add(server.name) : this.opened.delete(server.name));
    return h("details.server", { open: this.opened.has(server.name), ontoggle: opened }, h("summary", {}, h(`span.dot.${server.state}`), h("strong", {}, server.name), h("span.badge", {}, t(`servers.state.${server.state}`)),
      h("span.muted", {}, [server.transport, server.scope, t("servers.tools", { count: server.tools?.length ?? 0 })].filter(Boolean).join(" · ")), h("span.stretch"),
      button(t("servers.reconnect"), { iconName: "back", kind: "quiet", onclick: act("reconnect") }),
      button(t(off ? "servers.enable" : "servers.disable"), { iconName: off ? "check" : "stop", kind: "quiet", onclick: act(off ? "enable" : "disable") })),
      server.error ? h("p.ask-problem", {}, server.error) : null, h("div.server-tools", {}, (server.tools ?? []).map((name) => h("code", {}, name))));
  }

  keys() {
    const mac = navigator.platform.startsWith("Mac");
    const alt = mac ? "⌥" : "Alt";
    const rows = [["Enter", "keys.enter"], ["Shift Enter", "keys.newline"], ["Esc", "keys.stop"], ["Shift Tab", "keys.mode"], [`${alt} N`, "keys.new"],
      [`${alt} ↑ ${alt} ↓`, "keys.walk"], [`${alt} B`, "keys.list"], [`${alt} K`, "keys.search"], ["1 – 9", "keys.answers"], [`${alt} I`, "keys.focus"], [`${alt} L`, "keys.log"], ["?", "keys.help"]];
    showDialog(t("menu.keys"), h("dl.keys", {}, rows.map(([keys, words]) => [h("dt", {}, keys.split(" ").map((key) => (key === "–" ? " – " : h("kbd", {}, key)))), h("dd", {}, t(words))])));
  }

  /** A file of the workspace, to read. */
  async file(path) {
    const [, name, line] = path.match(/^(.*?)(?::(\d+))?$/);
    try {
      const file = await this.deps.socket.ask("openFile", { path: name, line: line ? Number(line) : null });
      const code = h("pre.file-view", { tabIndex: 0 });
      setHtml(code, file.html.split("\n").map((text, at) => `<span class="file-line">${text || " "}</span>`).join(""));
      showDialog(name, code, { wide: true });
      const shown = line ? code.children[Number(line) - 1] : null;
      shown?.classList.add("on");
      shown?.scrollIntoView({ block: "center" });
    } catch (error) {
      toast(error.message, "error");
    }
  }

  /** Leaves for an address only after the person has read it. */
  async leave(address) {
    const body = h("div", {}, h("p.muted", {}, t("link.text")), h("code.address", {}, address));
    const answer = await choose(t("link.title"), body, [{ label: t("link.open"), value: "open", kind: "primary" }, { label: t("link.copy"), value: "copy" }, { label: t("cancel"), value: null }]);
    if (answer === "open") window.open(address, "_blank", "noopener,noreferrer");
    if (answer === "copy") navigator.clipboard?.writeText(address);
  }
}

function tile(name, value) {
  return h("div.tile", {}, h("span.muted", {}, name), h("strong", {}, value));
}

function settingControl(setting, save) {
  if (setting.kind === "boolean") return h("input", { type: "checkbox", checked: Boolean(setting.value), "aria-label": setting.key, onchange: (event) => save(setting.key, event.target.checked) });
  if (setting.choices?.length) {
    return h("select", { "aria-label": setting.key, onchange: (event) => save(setting.key, event.target.value) },
      setting.choices.map((choice) => h("option", { value: choice, selected: choice === setting.value }, choice)));
  }
  const number = setting.kind === "number";
  return h("input.text-field", { type: number ? "number" : "text", value: setting.value ?? "", "aria-label": setting.key,
    onchange: (event) => save(setting.key, number ? Number(event.target.value) : event.target.value) });
}

