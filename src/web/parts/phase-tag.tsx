import type { ClaimView } from "../../mac-pool/inspection/rest/views.ts";

export function PhaseTag({ phase }: { readonly phase: ClaimView["phase"] }) {
  return <span class={`phase ${phase.toLowerCase()}`}>{phase}</span>;
}
