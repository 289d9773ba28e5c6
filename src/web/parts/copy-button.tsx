import { useSignal } from "@preact/signals";

const SHOWN_MS = 1_500;

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const state = useSignal("");
  const copy = async (): Promise<void> => {
    state.value = (await written(text)) ? "Copied" : "Select and copy it by hand";
    setTimeout(() => {
      state.value = "";
    }, SHOWN_MS);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {state.value || `Copy ${what}`}
    </button>
  );
}

/** The clipboard is there on HTTPS and on localhost only, and the reader may have forbidden it. */
async function written(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
