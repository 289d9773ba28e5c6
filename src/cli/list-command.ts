import type { ClaimOwner, MACClaim } from "../api/mac-claim.ts";
import { ownerName, ownersOf } from "./claim-text.ts";
import { UsageError } from "./command-line.ts";
import type { Command } from "./commands.ts";
import { formatObjects } from "./objects-text.ts";
import { type Column, formatTable } from "./table.ts";
import { shortAge } from "./time-text.ts";

interface Row {
  readonly claim: MACClaim;
  readonly owner: ClaimOwner | undefined;
}

/** `kubectl macpool list`: one line for each owner of an address. */
export const listCommand: Command = async ({ line, cluster, namespace, nowMs }) => {
  if (line.args.length > 0) throw new UsageError("list takes no argument: use kubectl macpool find");
  const claims = (await cluster.claims()).filter(
    (claim) => namespace === undefined || ownersOf(claim).some((owner) => owner.namespace === namespace),
  );
  const formatted = formatObjects(claims, line.options.output);
  if (formatted !== undefined) return { stdout: formatted, exitCode: 0 };
  if (claims.length === 0) {
    const where = namespace === undefined ? "in the cluster" : `in namespace ${namespace}`;
    return { stdout: "", stderr: `No MAC addresses are in use ${where}.`, exitCode: 0 };
  }
  return {
    stdout: formatClaims(claims, {
      namespace,
      wide: line.options.output === "wide",
      noHeaders: line.options.noHeaders,
      nowMs,
    }),
    exitCode: 0,
  };
};

export function formatClaims(
  claims: readonly MACClaim[],
  options: { namespace: string | undefined; wide: boolean; noHeaders: boolean; nowMs: number },
): string {
  const { namespace, wide, noHeaders, nowMs } = options;
  const rows = claims.flatMap((claim): Row[] => {
    const owners = ownersOf(claim).filter((owner) => namespace === undefined || owner.namespace === namespace);
    return owners.length === 0 ? [{ claim, owner: undefined }] : owners.map((owner) => ({ claim, owner }));
  });
  const columns: Column<Row>[] = [
    { header: "MAC", cell: ({ claim }) => claim.spec.mac },
    ...(namespace === undefined ? [{ header: "NAMESPACE", cell: ({ owner }: Row) => owner?.namespace ?? "" }] : []),
    { header: "OWNER", cell: ({ owner }) => (owner === undefined ? "" : `${owner.kind}/${ownerName(owner)}`) },
    { header: "INTERFACE", cell: ({ owner }) => owner?.interface ?? "" },
    { header: "PHASE", cell: ({ claim }) => claim.status?.phase ?? "" },
    { header: "POOL", cell: ({ claim }) => claim.spec.pool ?? "" },
    {
      header: "AGE",
      cell: ({ claim, owner }) => shortAge(Date.parse(owner?.since ?? claim.metadata.creationTimestamp ?? ""), nowMs),
    },
    ...(wide
      ? [
          { header: "NETWORK", cell: ({ owner }: Row) => owner?.network ?? "" },
          { header: "ORIGIN", cell: ({ claim }: Row) => claim.spec.origin },
          { header: "UNTIL", cell: ({ claim }: Row) => claim.status?.until ?? "" },
        ]
      : []),
  ];
  return formatTable(columns, rows, noHeaders);
}
