import type { CollisionView } from "../../mac-pool/inspection/views.ts";
import { collisionList, collisions } from "../live.ts";
import { Empty } from "../parts/empty.tsx";
import { ExportButtons } from "../parts/export-buttons.tsx";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { Time } from "../parts/time.tsx";

export function CollisionsView() {
  const shown = collisions.value;
  return (
    <>
      <p class="lead">Addresses that several running objects have. Their networks deliver frames to the wrong one.</p>
      <ProblemNotice problem={collisionList.problem} isStale={shown !== undefined} />
      <CollisionTable collisions={shown} />
      {shown !== undefined && shown.length > 0 && (
        <ExportButtons
          name="collisions"
          columns={COLUMNS}
          rows={async () => shown.flatMap(rowsOf)}
          objects={async () => shown}
        />
      )}
    </>
  );
}

const COLUMNS = ["mac", "kind", "namespace", "name", "interface", "network", "node", "since", "advice"];

function rowsOf({ mac, parties, advice }: CollisionView): string[][] {
  return parties.map(({ kind, namespace, name, interface: nic = "", network = "", node = "", since = "" }) => [
    ...[mac, kind, namespace, name, nic, network, node, since, advice],
  ]);
}

export function CollisionTable({ collisions: shown }: { readonly collisions: readonly CollisionView[] | undefined }) {
  if (shown === undefined) return <p class="quiet">Asking the pool.</p>;
  if (shown.length === 0) {
    return (
      <Empty title="Nothing collides.">
        <p>
          An address appears here while two running VMs or pods have it: because both had it before the pool, because a
          policy allows it, or because one of them is not managed.
        </p>
      </Empty>
    );
  }
  return (
    <ul class="cards">
      {shown.map(({ mac, parties, elsewhere, advice }) => (
        <li key={mac} class="card bad">
          <h3>
            <MacLink mac={mac} />
          </h3>
          <ul>
            {parties.map((party) => (
              <li key={`${party.kind}/${party.namespace}/${party.name}/${party.interface}`}>
                <OwnerLink owner={party} />
                <span class="quiet">
                  {party.interface !== undefined && ` ${party.interface}`}
                  {party.network !== undefined && ` on ${party.network}`}
                  {party.node !== undefined && `, node ${party.node}`}
                  {party.since !== undefined && (
                    <>
                      , <Time at={party.since} />
                    </>
                  )}
                </span>
              </li>
            ))}
            {elsewhere > 0 && <li>{elsewhere} more in namespaces that you may not see</li>}
          </ul>
          <p>{advice}</p>
        </li>
      ))}
    </ul>
  );
}
