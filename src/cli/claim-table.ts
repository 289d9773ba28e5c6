import type { OwnerView } from "../mac-pool/inspection/rest/views.ts";
import { ownerName, shortKind } from "./claim-text.ts";
import type { ListedClaim } from "./doors/door.ts";
import { type Column, formatTable, type TableOptions } from "./table.ts";
import { shortAge } from "./time-text.ts";

interface Row {
  readonly claim: ListedClaim;
  readonly owner: OwnerView | undefined;
}

/** Claims with one line for each owner; without the column of namespaces where one is given. */
export function formatClaims(
  claims: readonly ListedClaim[],
  namespace: string | undefined,
  { wide, nowMs, ...table }: TableOptions & { readonly wide: boolean; readonly nowMs: number },
): string {
  const rows = claims.flatMap((claim): Row[] => {
    const owners = claim.owners.filter((owner) => namespace === undefined || owner.namespace === namespace);
    return owners.length === 0 ? [{ claim, owner: undefined }] : owners.map((owner) => ({ claim, owner }));
  });
  const namespaces: Column<Row>[] = [{ header: "NAMESPACE", cell: ({ owner }) => owner?.namespace ?? "", cut: true }];
  const more: Column<Row>[] = [
    { header: "NETWORK", cell: ({ owner }) => owner?.network ?? "" },
    { header: "ORIGIN", cell: ({ claim }) => claim.origin },
    { header: "NODE", cell: ({ owner }) => owner?.node ?? "" },
    { header: "UNTIL", cell: ({ claim }) => claim.until ?? claim.deadline ?? "" },
  ];
  const columns: Column<Row>[] = [
    { header: "MAC", cell: ({ claim }) => claim.mac },
    ...(namespace === undefined ? namespaces : []),
    {
      header: "OWNER",
      cell: ({ owner }) => (owner === undefined ? "" : `${owner.kind}/${ownerName(owner)}`),
      short: ({ owner }) => (owner === undefined ? "" : `${shortKind(owner.kind)}/${ownerName(owner)}`),
      cut: true,
    },
    { header: "INTERFACE", cell: ({ owner }) => owner?.interface ?? "", drop: 2 },
    { header: "PHASE", cell: ({ claim }) => claim.phase, drop: 1 },
    { header: "POOL", cell: ({ claim }) => claim.pool ?? "", drop: 4 },
    {
      header: "AGE",
      cell: ({ claim, owner }) => shortAge(Date.parse(owner?.since ?? claim.created ?? ""), nowMs),
      drop: 3,
    },
    ...(wide ? more : []),
  ];
  return formatTable(columns, rows, wide ? { noHeaders: table.noHeaders } : table);
}
