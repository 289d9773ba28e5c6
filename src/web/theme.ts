import { effect, signal } from "@preact/signals";

const THEMES = ["auto", "light", "dark"] as const;

/** `auto` is what the system says. */
export const theme = signal<(typeof THEMES)[number]>("auto");

export function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "auto";
}

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});
