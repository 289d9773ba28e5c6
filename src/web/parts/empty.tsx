import type { ComponentChildren } from "preact";

/** In the place of a list without items: what it would show, and how something gets there. */
export function Empty({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="empty">
      <p>
        <strong>{title}</strong>
      </p>
      {children}
    </div>
  );
}
