// What is attached to a message: picked, dropped or pasted.

import { button, fill, h, icon } from "./dom.js";
import { t } from "./i18n.js";
import { showDialog, showMenu, toast } from "./menu.js";

const MOST = 10 * 1024 * 1024;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export class Attachments {
  /** `socket` lists the workspace; `changed()` is called when there are more or fewer. */
  constructor(socket, changed) {
    this.socket = socket;
    this.changed = changed;
    this.items = [];
    this.element = h("div.attachments", { hidden: true });
    this.input = h("input", { type: "file", multiple: true, hidden: true, onchange: () => this.addFiles(this.input.files) });
    this.button = button(t("compose.attach"), { iconName: "plus", kind: "quiet", "aria-haspopup": "menu", onclick: () => this.menu() });
  }

  menu() {
    showMenu(this.button, [
      { label: t("compose.attach.workspace"), iconName: "folder", act: () => this.pick() },
      { label: t("compose.attach.computer"), iconName: "clip", act: () => this.input.click() },
    ], { label: t("compose.attach") });
  }

  take() {
    const items = this.items;
    this.items = [];
    this.draw();
    return items;
  }

  async addFiles(files) {
    for (const file of files) {
      if (file.size > MOST) {
        toast(t("compose.toolarge", { name: file.name }), "error");
      } else if (PICTURES.includes(file.type)) {
        const url = await readAs(file, "readAsDataURL");
        this.items.push({ name: file.name, mediaType: file.type, data: url.slice(url.indexOf(",") + 1), url });
      } else {
        this.items.push({ name: file.name, text: await readAs(file, "readAsText") });
      }
    }
    this.input.value = "";
    this.draw();
  }

  addPath(path) {
    if (!this.items.some((item) => item.path === path)) this.items.push({ name: path, path });
    this.draw();
  }

  draw() {
    this.element.hidden = !this.items.length;
    fill(this.element, this.items.map((item, at) =>
      h("span.chip", { title: item.name }, item.url ? h("img.chip-picture", { src: item.url, alt: "" }) : icon(item.path ? "folder" : "file"), h("span", {}, item.name),
        button(t("compose.remove", { name: item.name }), { iconName: "cross", kind: "quiet", onclick: () => { this.items.splice(at, 1); this.draw(); } }))));
    this.changed();
  }

  /** Walks the workspace's folders in a dialog. */
  async pick() {
    const list = h("div.picker", { role: "group", "aria-label": t("pick.title") });
    const dialog = showDialog(t("pick.title"), list);
    const show = async (folder) => {
      const entries = await this.socket.ask("pickFiles", { folder }).catch((error) => (toast(error.message, "error"), []));
      const go = (name) => (folder ? `${folder}/${name}` : name);
      const up = folder ? [{ name: "..", folder: true, up: true }] : [];
      fill(list, [...up, ...entries].map((entry) =>
        h("button.menu-item", { type: "button", onclick: () => {
          if (entry.up) show(folder.split("/").slice(0, -1).join("/"));
          else if (entry.folder) show(go(entry.name));
          else { this.addPath(go(entry.name)); dialog.close(); }
        } }, icon(entry.folder ? "folder" : "file"), entry.up ? t("pick.up") : entry.name)));
      list.querySelector("button")?.focus();
    };
    list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const all = [...list.querySelectorAll("button")];
      all[(all.indexOf(document.activeElement) + step + all.length) % all.length]?.focus();
    });
    show("");
  }
}

function readAs(file, how) {
  return new Promise((give, refuse) => {
    const reader = new FileReader();
    reader.onload = () => give(reader.result);
    reader.onerror = () => refuse(reader.error);
    reader[how](file);
  });
}
