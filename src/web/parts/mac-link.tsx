import { addressLink } from "../navigation.ts";

export function MacLink({ mac }: { readonly mac: string }) {
  return (
    <a class="mac" href={addressLink(mac)}>
      {mac}
    </a>
  );
}
