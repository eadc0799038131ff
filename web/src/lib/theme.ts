// Dark or light: by the system, unless chosen here.
import { signal } from "@preact/signals";
import { recall, store } from "./time";

export const theme = signal(recall("faina-theme", "system"));
/** Changes when the colors do, for what draws on a canvas. */
export const themeAt = signal(0);

export function applyTheme() {
  if (theme.value === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme.value);
  themeAt.value++;
}

export function setTheme(value: string) {
  theme.value = value;
  store("faina-theme", value);
  applyTheme();
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  themeAt.value++;
});
