/** Says which replicas did not tell their refusals. */
export function SilentReplicas({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) return null;
  return <p class="notice">Their refusals are missing, because these replicas do not answer: {names.join(", ")}.</p>;
}
