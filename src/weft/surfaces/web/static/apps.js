// MCP Apps: a server's page in a frame without rights. It talks to us by messages, and gets what is listed here.

import { h } from "./dom.js";
import { t } from "./i18n.js";

const frames = new Map();
const calls = new Map();
let ask = null;

/** `send` puts a message of the current conversation on the socket. */
export function connectApps(send) {
  ask = send;
}

/** A call that an app made has ended: its page is told. */
export function appEnded(chunk) {
  const call = calls.get(chunk.id);
  if (!call) return;
  calls.delete(chunk.id);
  const result = { content: [{ type: "text", text: chunk.text ?? "" }], isError: chunk.status !== "completed" };
  send(call.frame, { id: call.number, result });
}

/** `data` has the page's address, its title, and the tool's input and result, which the page is told. */
export function appFrame(data) {
  const frame = h("iframe.app-frame", { src: data.src, title: data.title, loading: "lazy", referrerPolicy: "no-referrer" });
  frame.setAttribute("sandbox", "allow-scripts allow-forms");
  frames.set(frame, data);
  return h("figure.app-box", {}, frame, h("figcaption", {}, data.title));
}

function send(frame, message) {
  // The frame has no origin of its own, so no target can be named; what is sent is for this page alone.
  frame.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

const HELLO = {
  protocolVersion: "2026-01-26",
  hostInfo: { name: "weft", version: "1" },
  hostCapabilities: { openLinks: {}, logging: {} },
  hostContext: { displayMode: "inline", platform: "web" },
};

function handle(frame, data, message) {
  const reply = (result) => message.id !== undefined && send(frame, { id: message.id, result });
  const refuse = (text) => message.id !== undefined && send(frame, { id: message.id, error: { code: -32000, message: text } });
  switch (message.method) {
    case "ui/initialize":
      return reply(HELLO);
    case "ui/notifications/initialized":
      send(frame, { method: "ui/notifications/tool-input", params: { arguments: data.input ?? {} } });
      return send(frame, { method: "ui/notifications/tool-result", params: data.result ?? { content: [] } });
    case "ui/notifications/size-changed": {
      const height = Number(message.params?.height);
      if (Number.isFinite(height)) frame.style.height = `${Math.max(40, Math.min(height, 900))}px`;
      return;
    }
    case "ui/open-link": {
      const url = String(message.params?.url ?? "");
      if (!/^https:\/\//.test(url) || !window.confirm(`${t("app.open")}\n${url}`)) return refuse("not opened");
      window.open(url, "_blank", "noopener,noreferrer");
      return reply({});
    }
    case "ui/message": {
      const text = String(message.params?.content?.text ?? message.params?.content?.[0]?.text ?? "").slice(0, 20000);
      document.dispatchEvent(new CustomEvent("weft-suggest", { detail: text }));
      return reply({});
    }
    case "tools/call": {
      // To the app's own server only: the name comes from the host, never from the page.
      const id = crypto.randomUUID();
      if (!ask || calls.size > 20) return refuse("not offered to apps");
      calls.set(`app_${id}`, { frame, number: message.id });
      return ask("appCall", { call: id, server: data.server, tool: String(message.params?.name ?? ""), arguments: message.params?.arguments ?? {} });
    }
    case "ping":
      return reply({});
    default:
      return refuse("not offered to apps");
  }
}

window.addEventListener("message", (event) => {
  for (const [frame, data] of frames) {
    if (!frame.isConnected) frames.delete(frame);
    else if (event.source === frame.contentWindow && event.data?.jsonrpc === "2.0") handle(frame, data, event.data);
  }
});
