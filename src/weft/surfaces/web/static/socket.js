// One socket to the host. It comes back by itself, and asks for what was missed.

import { t } from "./i18n.js";

class Lost extends Error {}

export class Socket {
  /** `seen()` gives the last chunk of each conversation that the page shows; `frame` gets what arrives. */
  constructor({ seen, frame, state }) {
    this.seen = seen;
    this.frame = frame;
    this.state = state;
    this.waiting = new Map();
    this.outbox = [];
    this.undelivered = new Map();
    this.number = 0;
    this.tries = 0;
    this.connect();
  }

  connect() {
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/socket`);
    this.socket = socket;
    socket.onopen = () => {
      this.tries = 0;
      this.state("open");
      socket.send(JSON.stringify({ type: "ready", seen: this.seen() }));
      for (const text of this.outbox.splice(0)) socket.send(text);
      for (const key of this.undelivered.keys()) this.hand(key);
    };
    socket.onmessage = (event) => {
      for (const frame of JSON.parse(event.data)) this.take(frame);
    };
    socket.onclose = () => {
      for (const { refuse } of this.waiting.values()) refuse(new Lost(t("app.lost")));
      this.waiting.clear();
      this.state("lost");
      const delay = Math.min(5000, 200 * 2 ** this.tries++);
      setTimeout(() => this.again(), delay);
    };
  }

  /** A browser does not say why an upgrade was refused; a plain request does. */
  async again() {
    try {
      const answer = await fetch("/static/weft.svg", { cache: "no-store" });
      if (answer.status === 401 || answer.status === 403) return this.state("refused");
    } catch {
      if (this.tries > 6) this.state("ended");
    }
    this.connect();
  }

  take(frame) {
    if (frame.type !== "reply") return this.frame(frame);
    const waiting = this.waiting.get(frame.request);
    this.waiting.delete(frame.request);
    if (!waiting) return;
    if (frame.error) waiting.refuse(new Error(frame.error));
    else waiting.give(frame.data);
  }

  send(type, fields = {}) {
    const text = JSON.stringify({ type, ...fields });
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(text);
    else this.outbox.push(text);
  }

  /** Sends until the host says that it has it: a socket that breaks on the way loses nothing, and nothing counts twice. */
  deliver(type, fields) {
    const key = crypto.randomUUID();
    this.undelivered.set(key, [type, { ...fields, key }]);
    if (this.socket.readyState === WebSocket.OPEN) this.hand(key);
  }

  async hand(key) {
    try {
      await this.ask(...this.undelivered.get(key));
    } catch (error) {
      if (error instanceof Lost) return;
      this.frame({ type: "problem", message: error.message });
    }
    this.undelivered.delete(key);
  }

  /** Sends, and waits for the answer to it. */
  ask(type, fields = {}) {
    const request = ++this.number;
    return new Promise((give, refuse) => {
      this.waiting.set(request, { give, refuse });
      this.send(type, { request, ...fields });
    });
  }
}
