// What the browser remembers for this page. In a frame it may refuse to; then the page remembers until it is closed.
// The address may say how the page looks (`?theme=dark&lang=zh`), as an editor does that shows it in a frame.

const own = new Map();
const address = new URLSearchParams(location.search);
for (const [name, key] of [["theme", "weft.theme"], ["lang", "weft.language"]]) {
  if (address.has(name)) own.set(key, address.get(name));
}

export function recall(key) {
  if (own.has(key)) return own.get(key);
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function remember(key, value) {
  own.set(key, value);
  try {
    localStorage.setItem(key, value);
  } catch {
    // It holds for as long as the page is open.
  }
}
