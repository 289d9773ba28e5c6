import { STATION } from "../../api/host-interfaces.ts";
import { saidByPod } from "../../api/said-by-pods.ts";
import type { CollisionView } from "../../mac-pool/inspection/rest/views.ts";
import { collisionList, collisions } from "../live-lists.ts";
import { Empty } from "../parts/empty.tsx";
import { ExportButtons } from "../parts/export-buttons.tsx";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { Portion } from "../parts/portion.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { Remedy } from "../parts/remedy.tsx";
import { Time } from "../parts/time.tsx";
import { count, counted } from "../text.ts";

export function CollisionsView() {
  const shown = collisions.value;
  return (
    <>
      <p class="lead">
        Several running objects have the same address, or a station outside the cluster has it too. Their networks can
        deliver frames to the wrong one.
      </p>
      <ProblemNotice problem={collisionList.problem} isStale={shown !== undefined} />
      <Portion items={shown}>{(first) => <CollisionTable collisions={first} />}</Portion>
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

const COLUMNS = ["mac", "kind", "namespace", "name", "interface", "network", "node", "since", "said by", "advice"];

function rowsOf({ mac, parties, stations = [], advice }: CollisionView): string[][] {
  return [
    ...parties.map(
      ({ kind, namespace, name, interface: nic = "", network = "", node = "", since = "", saidBy = "" }) => [
        ...[mac, kind, namespace, name, nic, network, node, since, saidBy, advice],
      ],
    ),
    ...stations.map(({ node, bridge, uplink, vlan }) => [
      ...[mac, STATION, "", "", uplink, vlan === undefined ? bridge : `${bridge} VLAN ${vlan}`, node, "", "", advice],
    ]),
  ];
}

function CollisionTable({ collisions: shown }: { readonly collisions: readonly CollisionView[] | undefined }) {
  if (shown === undefined) return <p class="quiet">Asking the pool.</p>;
  if (shown.length === 0) {
    return (
      <Empty title="Nothing collides.">
        <p>
          An address appears here while two running VMs or pods have it: from before the pool, by a policy, by a guest,
          or where the pool does not manage it. It also appears while a node sees a {STATION} use it.
        </p>
      </Empty>
    );
  }
  return (
    <ul class="cards">
      {shown.map((collision) => (
        <CollisionCard key={collision.mac} collision={collision} />
      ))}
    </ul>
  );
}

export function CollisionCard({ collision }: { readonly collision: CollisionView }) {
  const { mac, parties, stations = [], elsewhere, advice } = collision;
  const [first] = parties;
  const others = parties.length - 1 + stations.length + elsewhere;
  return (
    <li class="card bad">
      <p class="when">
        <span class="tag">collision</span>
      </p>
      <h3>
        {first !== undefined && <OwnerLink owner={first} />}
        {others > 0 && ` and ${count(others)} more`}: <MacLink mac={mac} />
      </h3>
      <ul>
        {parties.map((party) => (
          <li key={`${party.kind}/${party.namespace}/${party.name}/${party.interface}`}>
            <OwnerLink owner={party} />
            <span class="quiet">
              {party.interface !== undefined && ` ${party.interface}`}
              {party.network !== undefined && ` on ${party.network}`}
              {party.node !== undefined && (
                <>
                  , <span class="whole">node {party.node}</span>
                </>
              )}
              {party.since !== undefined && (
                <>
                  , got it <Time at={party.since} />
                </>
              )}
              {party.saidBy ? `: ${saidByPod(party)}` : party.isManaged === false && ": the pool does not manage it"}
            </span>
          </li>
        ))}
        {stations.map(({ node, bridge, uplink, vlan, lastSeen }) => (
          <li key={`${node}/${bridge}/${vlan}`}>
            {STATION}
            <span class="quiet">
              {` at uplink ${uplink} of bridge ${bridge}${vlan === undefined ? "" : `, VLAN ${vlan}`}, `}
              <span class="whole">node {node}</span>, seen <Time at={lastSeen} />
            </span>
          </li>
        ))}
        {elsewhere > 0 && <li>{counted(elsewhere, "more object")} in namespaces that you may not see</li>}
      </ul>
      <Remedy text={advice} />
    </li>
  );
}
