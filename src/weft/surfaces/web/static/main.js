// The page: puts its parts together, and passes what arrives to the conversation it belongs to.

import { connectApps } from "./apps.js";
import { announce, button, copyText, fill, h, icon } from "./dom.js";
import { askCard } from "./asks.js";
import { Composer } from "./composer.js";
import { applyLanguage, language, seconds, setLanguage, t } from "./i18n.js";
import { askText, choose, closeMenu, showMenu, toast } from "./menu.js";
import { recall, remember } from "./memory.js";
import { Panels } from "./panels.js";
import { Sidebar } from "./sidebar.js";
import { Socket } from "./socket.js";
import { Transcript } from "./transcript.js";

class Page {
  constructor() {
    applyLanguage();
    applyTheme();
    this.transcripts = new Map();
    this.early = [];
    this.current = location.hash.slice(1) || null;
    this.state = { folders: [], agents: [], conversations: [], panels: [] };
    this.socket = new Socket({ seen: () => this.seen(), frame: (frame) => this.frame(frame), state: (state) => this.link(state) });
    const deps = { socket: this.socket, transcript: () => this.shown, send: (type, fields) => this.send(type, fields),
      ask: (type, fields) => this.socket.ask(type, { conversation: this.current, ...fields }) };
    this.panels = new Panels(deps);
    connectApps((type, fields) => this.send(type, fields));
    this.composer = new Composer(deps);
    this.sidebar = new Sidebar({ socket: this.socket, current: () => this.current, open: (id) => this.open(id), fresh: () => this.fresh() });
    this.build();
    this.keys();
    this.links();
  }

  get shown() {
    return this.transcripts.get(this.current);
  }

  build() {
    this.title = h("h1.title");
    this.folder = h("button.picker-button", { type: "button", "aria-haspopup": "menu", onclick: () => this.pickFolder() });
    this.agent = h("button.picker-button", { type: "button", "aria-haspopup": "menu", onclick: () => this.pickAgent() });
    this.menu = button(t("menu"), { iconName: "menu", kind: "quiet", "aria-haspopup": "menu", onclick: () => this.showMenu() });
    this.banner = h("div.banner", { role: "alert", hidden: true });
    this.scroller = h("div.scroller", { onscroll: () => this.scrolled(), tabIndex: -1 });
    this.latest = h("button.latest", { type: "button", hidden: true, onclick: () => this.toEnd(true) }, icon("down"), t("latest"));
    this.dock = h("div.dock");
    this.head = h("header.head", {}, button(t("side.show"), { iconName: "panel", kind: "quiet.show-side", onclick: () => this.sidebar.toggle() }), this.title, h("span.stretch"), this.folder, this.agent, this.menu);
    this.main = h("main.main", {}, this.head, this.banner, this.scroller, h("div.foot", {}, this.latest, this.dock, this.composer.element));
    fill(document.body, h("div.app", {}, this.sidebar.element, this.main), ...document.querySelectorAll(".drop-veil"));
    this.composer.focus();
    this.follow();
  }

  seen() {
    const transcript = this.shown;
    return transcript && transcript.seq ? { [this.current]: transcript.seq } : {};
  }

  /** To the conversation shown. What is sent before one is open waits for it: a quick typist loses nothing. */
  send(type, fields = {}) {
    if (!this.shown) this.early.push([type, fields]);
    else if (type === "sendMessage") this.socket.deliver(type, { conversation: this.current, ...fields });
    else this.socket.send(type, { conversation: this.current, ...fields });
  }

  link(state) {
    const words = { open: "", lost: t("app.lost"), refused: t("app.refused"), ended: t("app.ended") }[state];
    if (!this.banner) return;
    this.banner.hidden = !words;
    this.banner.textContent = words;
  }

  // --- what arrives ---------------------------------------------------------------------------------------

  frame(frame) {
    const handlers = {
      state: () => this.takeState(frame),
      conversations: () => this.takeRows(frame.conversations ?? []),
      conversationOpened: () => this.opened(frame),
      conversationClosed: () => this.closed(frame.conversation),
      streamChunk: () => this.transcripts.get(frame.conversation)?.take(frame),
      older: () => this.transcripts.get(frame.conversation)?.prepend(frame),
      ideContextChanged: () => { this.composer.context = frame; this.composer.draw(); },
      problem: () => toast(frame.message, "error"),
    };
    handlers[frame.type]?.();
  }

  takeState(frame) {
    const first = !this.ready;
    this.ready = true;
    this.state = frame;
    this.takeRows(frame.conversations ?? []);
    // An editor builds its frame anew when it was hidden, from the same address: the conversation goes on in it.
    if (first && !this.current && window.top !== window) this.current = this.sidebar.rows.find((row) => row.live)?.id ?? null;
    if (first && this.current && this.sidebar.rows.some((row) => row.id === this.current)) this.socket.send("switchConversation", { conversation: this.current });
    else if (first) this.fresh();
    this.drawHead();
  }

  takeRows(rows) {
    this.sidebar.set(rows);
    const row = rows.find((each) => each.id === this.current);
    if (row && this.shown) this.shown.row = row;
    this.drawHead();
  }

  opened(frame) {
    const id = frame.row.id;
    let transcript = this.transcripts.get(id);
    if (!transcript) {
      transcript = new Transcript(id, {
        act: (name, chunk) => this.act(name, chunk),
        open: (path) => this.panels.file(path),
        short: (text) => this.short(text),
        stop: (task) => this.send("stopTask", { task }),
        older: (before) => this.socket.send("olderMessages", { conversation: id, before }),
        changed: (which, chunk) => this.changed(which, chunk),
      });
      this.transcripts.set(id, transcript);
    }
    const before = this.current;
    this.current = id;
    transcript.open(frame);
    if (this.scroller.firstElementChild !== transcript.element) {
      fill(this.scroller, transcript.element);
      this.sizes.disconnect();
      this.sizes.observe(this.scroller);
      this.sizes.observe(transcript.element);
    }
    if (before !== id || !frame.resumed) this.toEnd(true);
    if (frame.row.title) this.here(id);
    else history.replaceState(null, "", location.pathname);
    this.drawAll();
    if (before !== id) this.composer.focus();
    for (const [type, fields] of this.early.splice(0)) this.send(type, fields);
  }

  /** The address names the conversation, for a reload. */
  here(id) {
    history.replaceState(null, "", `#${id}`);
  }

  closed(id) {
    this.transcripts.delete(id);
    if (this.current === id) this.fresh();
  }

  changed(transcript, chunk) {
    if (transcript.id !== this.current) return;
    if (chunk?.type === "session" && document.activeElement === this.composer.area) this.composer.completion.look();
    if (chunk?.type === "user_message" && location.hash.slice(1) !== transcript.id) this.here(transcript.id);
    if (this.drawing) return;
    this.drawing = true;
    const draw = () => {
      if (!this.drawing) return;
      this.drawing = false;
      this.drawAll();
      if (this.stuck) this.toEnd();
    };
    requestAnimationFrame(draw);
    // A page that nobody looks at gets no frames, and still has to know what is asked.
    setTimeout(draw, 200);
  }

  drawAll() {
    this.composer.draw();
    this.drawAsks();
    this.drawHead();
    this.drawEmpty();
    this.drawWork();
    document.body.classList.toggle("running", Boolean(this.shown?.running));
  }

  drawHead() {
    const transcript = this.shown;
    const row = transcript?.row;
    const title = this.sidebar.rows.find((each) => each.id === this.current)?.title || row?.title || t("untitled");
    this.title.textContent = title;
    const asks = this.sidebar.rows.some((each) => each.state === "asking");
    document.title = `${asks ? "● " : ""}${title} · Weft`;
    const folder = transcript?.info?.cwd || row?.folder || this.state.folders[0] || "";
    fill(this.folder, icon("folder"), h("span", {}, folder.split("/").filter(Boolean).at(-1) ?? "/"));
    this.folder.title = folder;
    this.folder.setAttribute("aria-label", `${t("folder")}: ${folder}`);
    const agent = row?.agent || this.state.defaultAgent || "weft";
    fill(this.agent, icon("robot"), h("span", {}, this.state.agents?.find((each) => each.name === agent)?.title || agent));
    this.agent.setAttribute("aria-label", `${t("agent")}: ${agent}`);
  }

  drawAsks() {
    const open = [...(this.shown?.asks.values() ?? [])];
    const shown = new Set([...this.dock.children].map((card) => card.dataset.request));
    for (const card of [...this.dock.children]) if (!open.some((ask) => ask.request_id === card.dataset.request)) card.remove();
    const idle = !this.composer.area.value;
    for (const ask of open) {
      if (shown.has(ask.request_id)) continue;
      const card = askCard(ask, { send: (type, fields) => this.send(type, fields), open: (path) => this.panels.file(path), leave: (address) => this.panels.leave(address),
        short: (text) => this.short(text), outside: (path) => path.startsWith("/") && !this.state.folders.some((folder) => path === folder || path.startsWith(`${folder}/`)) });
      this.dock.append(card);
      announce(`${t("row.asking")}: ${card.getAttribute("aria-label")}`);
      if (idle && card === this.dock.firstElementChild) card.focus();
    }
    this.dock.classList.toggle("full", open.length > 0);
    if (!open.length && shown.size && idle) this.composer.focus();
  }

  /** Paths below the conversation's folder, as a person writes them. */
  short(text) {
    const folder = this.shown?.info?.cwd || this.shown?.row?.folder;
    return folder ? text.replaceAll(`${folder}/`, "") : text;
  }

  drawEmpty() {
    const transcript = this.shown;
    const empty = transcript && !transcript.log.childElementCount;
    const there = this.scroller.querySelector(".empty");
    if (!empty) return there?.remove();
    if (there) return;
    this.scroller.append(h("section.empty", {}, h("img", { src: "/static/weft.svg", alt: "", width: 44, height: 44 }), h("h2", {}, t("empty.title")), h("p", {}, t("empty.text")),
      h("div.suggestions", {}, [1, 2, 3, 4].map((number) => h("button", { type: "button", onclick: () => { this.composer.setText(t(`empty.${number}`)); this.composer.focus(); } }, t(`empty.${number}`))))));
  }

  /** Something moves for as long as the agent works, also while nothing is written. */
  drawWork() {
    const transcript = this.shown;
    const busy = Boolean(transcript?.running) && !transcript.asks.size;
    this.work ??= h("div.working", { hidden: true }, h("span.spinner"), h("span.shimmer", {}, t("working")), h("span.muted"));
    if (busy && this.work.parentElement !== transcript.element) transcript.element.append(this.work);
    this.work.hidden = !busy;
    if (!busy) return;
    transcript.since ??= Date.now();
    const shown = Math.floor((Date.now() - transcript.since) / 1000);
    this.work.lastChild.textContent = shown > 2 ? seconds(shown) : "";
    clearTimeout(this.workTimer);
    this.workTimer = setTimeout(() => this.drawWork(), 1000);
  }

  // --- scrolling ------------------------------------------------------------------------------------------

  /** Only the person's own scrolling lets go of the end: everything else that moves the text keeps it in sight. */
  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const rest = scrollHeight - scrollTop - clientHeight;
    if (rest < 60) this.stuck = true;
    else if (scrollTop < this.lastTop - 1 && this.byHand) this.stuck = false;
    this.lastTop = scrollTop;
    this.latest.hidden = this.stuck || rest < 300;
    if (scrollTop < 1500) this.shown?.askOlder();
  }

  follow() {
    for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"]) {
      this.scroller.addEventListener(kind, () => {
        this.byHand = true;
        clearTimeout(this.handTimer);
        this.handTimer = setTimeout(() => (this.byHand = false), 800);
      }, { passive: true });
    }
    this.sizes = new ResizeObserver(() => this.stuck && this.toEnd());
    this.sizes.observe(this.scroller);
  }

  toEnd(now = false) {
    this.stuck = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.lastTop = this.scroller.scrollTop;
    if (now) requestAnimationFrame(() => this.stuck && (this.scroller.scrollTop = this.scroller.scrollHeight));
    this.latest.hidden = true;
  }

  // --- what the person does -------------------------------------------------------------------------------

  open(id) {
    if (!id) return;
    const known = this.transcripts.get(id);
    this.socket.send("switchConversation", { conversation: id, seen: known?.seq || null });
    if (innerWidth < 760) document.body.classList.add("no-sidebar");
  }

  fresh() {
    const info = this.shown?.info;
    this.socket.send("newConversation", { folder: info?.cwd ?? "", agent: this.shown?.row?.agent ?? "" });
  }

  async act(name, chunk) {
    if (name === "fork") return this.send("forkConversation", { messageId: chunk.id });
    const own = (this.shown?.row?.agent ?? "weft") === "weft"; // Other agents cannot take back what was said.
    const what = await choose(t("rewind.title"), null, [
      own ? { label: t("rewind.both"), value: { files: true, messages: true }, kind: "primary" } : null,
      own ? { label: t("rewind.messages"), value: { files: false, messages: true } } : null,
      { label: t("rewind.files"), value: { files: true, messages: false } },
      { label: t("cancel"), value: null },
    ].filter(Boolean));
    if (!what) return;
    try {
      const { text } = await this.socket.ask("rewind", { conversation: this.current, messageId: chunk.id, ...what });
      if (what.messages) this.composer.setText(text);
    } catch (error) {
      toast(error.message, "error");
    }
  }

  pickFolder() {
    const now = this.shown?.info?.cwd || this.shown?.row?.folder;
    showMenu(this.folder, [...this.state.folders.map((folder) => ({ label: folder.split("/").at(-1) || folder, text: folder, checked: folder === now, act: () => this.send("setWorkspaceFolder", { folder }) })),
      "---", { label: t("folder.add"), iconName: "plus", act: async () => {
        const folder = await askText(t("folder.add.prompt"));
        if (folder) this.socket.ask("addFolder", { folder }).catch((error) => toast(error.message, "error"));
      } }], { label: t("folder") });
  }

  pickAgent() {
    const now = this.shown?.row?.agent;
    showMenu(this.agent, [...(this.state.agents ?? []).map((agent) => ({ label: agent.title || agent.name, checked: agent.name === now,
      text: agent.available === false ? agent.detail || t("row.lost") : agent.version || (agent.available === null ? t("agent.unchecked") : ""), act: () => this.chooseAgent(agent.name) })),
      "---", { label: t("agent.recheck"), iconName: "search", act: () => this.socket.send("recheckCli") }], { label: t("agent") });
  }

  chooseAgent(agent) {
    if (this.shown?.row?.title || this.shown?.log.childElementCount) this.socket.send("newConversation", { folder: this.shown.info?.cwd ?? "", agent });
    else this.send("setAgent", { agent });
  }

  showMenu() {
    const panels = new Set(this.state.panels ?? []);
    showMenu(this.menu, [
      { label: t("menu.export"), iconName: "download", act: () => this.export("markdown") },
      { label: t("menu.export.json"), iconName: "download", act: () => this.export("json") },
      { label: t("menu.clear"), iconName: "plus", act: () => this.send("clearConversation") },
      "---",
      { label: t("menu.servers"), iconName: "plug", act: () => this.panels.servers() },
      panels.has("permissions") ? { label: t("menu.permissions"), iconName: "shield", act: () => this.panels.permissions() } : null,
      panels.has("usage") ? { label: t("menu.usage"), iconName: "chart", act: () => this.panels.usage() } : null,
      panels.has("settings") ? { label: t("menu.settings"), iconName: "gear", act: () => this.panels.settings() } : null,
      "---",
      { label: t("menu.keys"), iconName: "keyboard", act: () => this.panels.keys() },
      { label: t("menu.theme"), iconName: "moon", act: flipTheme },
      { label: t("menu.language"), iconName: "globe", act: () => setLanguage(language() === "zh" ? "en" : "zh") },
      { label: t("menu.link"), iconName: "copy", act: async () => { await copyText(location.origin + (await this.socket.ask("newLink"))); toast(t("copied")); } },
    ], { label: t("menu") });
  }

  async export(format) {
    try {
      const { name, text } = await this.socket.ask("exportConversation", { conversation: this.current, format });
      const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: name });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } catch (error) {
      toast(error.message, "error");
    }
  }

  keys() {
    addEventListener("keydown", (event) => {
      const writing = event.target.matches?.("input, textarea, select");
      const act = event.altKey && !event.ctrlKey ? {
        KeyN: () => this.fresh(), KeyB: () => this.sidebar.toggle(), KeyI: () => this.composer.focus(), KeyL: () => this.toLog(),
        KeyK: () => { document.body.classList.remove("no-sidebar"); this.sidebar.search.focus(); },
        ArrowUp: () => this.open(this.sidebar.neighbour(-1)), ArrowDown: () => this.open(this.sidebar.neighbour(1)),
      }[event.code] : null;
      if (act) { event.preventDefault(); act(); }
      else if (event.key === "?" && !writing) this.panels.keys();
      else if (event.key === "Escape" && !writing && this.shown?.running && !document.querySelector("dialog[open], .menu") && !event.target.closest?.(".ask")) this.send("cancelCurrent");
    });
    addEventListener("popstate", closeMenu);
  }

  /** From the keyboard to the last thing in the conversation that can be opened or pressed; Shift+Tab goes further back. */
  toLog() {
    const all = this.shown?.log.querySelectorAll("button, summary, a[href], [tabindex='0']") ?? [];
    const seen = [...all].filter((each) => each.getClientRects().length);
    (seen.at(-1) ?? this.scroller).focus();
  }

  /** Links in what agents write: files open here, addresses only after a look at them. */
  links() {
    addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link || link.hasAttribute("download")) return;
      event.preventDefault();
      const address = link.getAttribute("href");
      if (/^(https?:|mailto:|\/\/)/i.test(address)) this.panels.leave(link.href);
      else if (!address.startsWith("#")) this.panels.file(safeDecode(address));
    });
  }
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function applyTheme() {
  const kept = recall("weft.theme");
  if (kept) document.documentElement.dataset.theme = kept;
}

function flipTheme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  remember("weft.theme", dark ? "light" : "dark");
  applyTheme();
}

globalThis.weft = new Page();
