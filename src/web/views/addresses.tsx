import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { nadOf } from "../../api/claim-network.ts";
import { vlanText } from "../../api/network-text.ts";
import type { ClaimView, OwnerView } from "../../mac-pool/inspection/rest/views.ts";
import { useClaims } from "../claim-list.ts";
import { askAll, type Parameters } from "../client.ts";
import { goTo, route } from "../navigation.ts";
import { segmentText } from "../networks/settings.ts";
import { Empty } from "../parts/empty.tsx";
import { ExportButtons } from "../parts/export-buttons.tsx";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { PhaseTag } from "../parts/phase-tag.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { Time } from "../parts/time.tsx";
import { type Column, VirtualTable } from "../parts/virtual-table.tsx";
import { linkTo } from "../route.ts";
import { namespace } from "../session.ts";
import { count, counted } from "../text.ts";
import { AddressPanel } from "./address-panel.tsx";

/** Every phase and every origin, in the words of REST. */
const PHASES = Object.keys({ Pending: 0, Bound: 0, Quarantined: 0 } satisfies Record<ClaimView["phase"], 0>);
const ORIGINS = Object.keys({ automatic: 0, explicit: 0, observed: 0 } satisfies Record<ClaimView["origin"], 0>);

/** As large as the server allows. */
const EXPORT_PAGE = 5_000;
const MAX_OFFERED = 100;

const FILTERS = ["search", "namespace", "pool", "network", "outOfRange", "phase", "origin"] as const;

const COLUMNS: readonly Column<ClaimView>[] = [
  { title: "Address", cell: ({ mac }) => <MacLink mac={mac} /> },
  { title: "Owner", look: "below", cell: (claim) => <Owners claim={claim} /> },
  { title: "Interface", look: "wide", cell: ({ owners }) => owners[0]?.interface },
  {
    title: "Network",
    look: "wide place",
    cell: ({ owners }) => owners[0] !== undefined && <Network owner={owners[0]} />,
  },
  { title: "Node", look: "wide place", cell: ({ owners }) => owners[0]?.node },
  { title: "Phase", cell: ({ phase }) => <PhaseTag phase={phase} /> },
  { title: "Origin", look: "wide", cell: ({ origin, inRange }) => (inRange ? origin : `${origin}, outside`) },
  { title: "Since", look: "wide", cell: ({ created }) => created !== undefined && <Time at={created} /> },
];

export function AddressesView() {
  const { args, query } = route.value;
  const [chosen] = args;
  const filter: Parameters = Object.fromEntries(FILTERS.map((name) => [name, query[name]]));
  const isGrouped = query.group === BY_OWNER;
  const { claims, problem, readOn } = useClaims(filter);
  const all = (progress: (items: number) => void): Promise<ClaimView[]> =>
    askAll("claims", { ...filter, limit: EXPORT_PAGE }, progress);
  return (
    <div class={chosen === undefined ? "split" : "split open"}>
      {chosen !== undefined && <AddressPanel key={chosen} mac={chosen} back={linkTo("addresses", [], query)} />}
      <div class="list">
        <FilterBar query={query} rows={claims?.rows ?? []} />
        <ProblemNotice problem={problem} isStale={claims !== undefined} />
        <p class="quiet" role="status">
          {claims === undefined ? "Asking the pool." : counted(claims.total, "address", "addresses")}
          {isGrouped &&
            claims !== undefined &&
            claims.rows.length < claims.total &&
            `, of which the first ${count(claims.rows.length)} are grouped: filter to group all`}
        </p>
        {claims !== undefined && claims.rows.length > 0 && (
          <VirtualTable
            label="Addresses"
            columns={COLUMNS}
            rows={isGrouped ? byOwner(claims.rows) : claims.rows}
            keyOf={({ mac }) => mac}
            isChosen={({ mac }) => mac === chosen}
            total={claims.total}
            onNearEnd={readOn}
          />
        )}
        {claims?.rows.length === 0 && <NothingFound query={query} />}
        <ExportButtons
          name="addresses"
          columns={EXPORTED}
          rows={async (progress) => (await all(progress)).flatMap(rowsOf)}
          objects={all}
        />
      </div>
    </div>
  );
}

const BY_OWNER = "owner";

/** The addresses of one VM or pod beside each other. */
function byOwner(rows: readonly ClaimView[]): readonly ClaimView[] {
  const keyOf = ({ owners: [first] }: ClaimView): string => (first ? `${first.namespace}/${first.name ?? ""}` : "~");
  return rows.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : keyOf(one) > keyOf(other) ? 1 : 0));
}

function Owners({ claim: { owners, elsewhere } }: { readonly claim: ClaimView }) {
  const [first] = owners;
  const more = owners.length - 1 + elsewhere;
  if (first === undefined) return <span class="quiet">{elsewhere > 0 ? "elsewhere" : "none"}</span>;
  return (
    <>
      <OwnerLink owner={first} />
      {more > 0 && ` +${more}`}
    </>
  );
}

function Network({ owner }: { readonly owner: OwnerView }) {
  const segment = segmentText(owner);
  return (
    <>
      {owner.network}
      {segment !== "" && <span class="quiet"> {segment}</span>}
    </>
  );
}

const EXPORTED = [
  ...["mac", "phase", "origin", "pool", "range", "kind", "namespace", "name"],
  ...["interface", "network", "bridge", "vlan", "node", "pod", "since", "created"],
];

/** One for each owner. */
function rowsOf({ mac, phase, origin, pool = "", range = "", owners, created = "" }: ClaimView): string[][] {
  const claim = [mac, phase, origin, pool, range];
  if (owners.length === 0) return [[...claim, "", "", "", "", "", "", "", "", "", "", created]];
  return owners.map((owner) => {
    const { kind, namespace, name = "", interface: nic, network = "", bridge = "", node = "", pod = "", since } = owner;
    return [...claim, kind, namespace, name, nic, network, bridge, vlanText(owner), node, pod, since, created];
  });
}

type Query = Readonly<Record<string, string>>;

/** Filters that links set and a button takes away. */
const NAMED = [["outOfRange", "outside the ranges of pool"]] as const;

function FilterBar({ query, rows }: { readonly query: Query; readonly rows: readonly ClaimView[] }) {
  const set = (name: string, value: string | undefined): void =>
    goTo(linkTo("addresses", [], { ...route.value.query, [name]: value }));
  const texts = NAMED.filter(([name]) => query[name] !== undefined);
  return (
    <div class="filters">
      <Named title="Pool" name="pool" known={rows.map(({ pool }) => pool)} query={query} set={set} />
      <Named
        title="Namespace"
        name="namespace"
        known={rows.flatMap(({ owners }) => owners.map(({ namespace }) => namespace))}
        query={query}
        set={set}
      />
      <Named
        title="Network"
        name="network"
        known={rows.flatMap(({ owners }) => owners.map(networkName))}
        query={query}
        set={set}
      />
      <Choice title="Phase" name="phase" options={PHASES} query={query} set={set} />
      <Choice title="Origin" name="origin" options={ORIGINS} query={query} set={set} />
      <label>
        <input
          type="checkbox"
          checked={query.group === BY_OWNER}
          onChange={({ currentTarget }) => set("group", currentTarget.checked ? BY_OWNER : undefined)}
        />{" "}
        Group by owner
      </label>
      {texts.map(([name, words]) => (
        <button key={name} type="button" onClick={() => set(name, undefined)}>
          {words} {query[name]} <span aria-hidden="true">×</span>
          <span class="unseen"> remove this filter</span>
        </button>
      ))}
    </div>
  );
}

function networkName({ network, namespace }: ClaimView["owners"][number]): string | undefined {
  const nad = nadOf(network, namespace);
  return nad && `${nad.namespace}/${nad.name}`;
}

interface NamedProps {
  readonly title: string;
  readonly name: string;
  /** Of the rows that were read: others can be written. */
  readonly known: readonly (string | undefined)[];
  readonly query: Query;
  readonly set: (name: string, value: string) => void;
}

function Named({ title, name, known, query, set }: NamedProps) {
  const chosen = query[name] ?? "";
  const written = useSignal(chosen);
  useEffect(() => {
    written.value = chosen;
  }, [chosen]);
  const names = [...new Set(known)].filter((each) => each !== undefined).toSorted();
  return (
    <label>
      {title}{" "}
      <input
        type="search"
        list={`known-${name}`}
        placeholder="any"
        spellcheck={false}
        maxLength={253}
        value={written.value}
        onInput={({ currentTarget }) => {
          written.value = currentTarget.value;
        }}
        onChange={({ currentTarget }) => set(name, currentTarget.value.trim())}
      />
      <datalist id={`known-${name}`}>
        {names.slice(0, MAX_OFFERED).map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  );
}

interface ChoiceProps {
  readonly title: string;
  readonly name: string;
  readonly options: readonly string[];
  readonly query: Query;
  readonly set: (name: string, value: string) => void;
}

function Choice({ title, name, options, query, set }: ChoiceProps) {
  return (
    <label>
      {title}{" "}
      <select value={query[name] ?? ""} onChange={({ currentTarget }) => set(name, currentTarget.value)}>
        <option value="">any</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}

function NothingFound({ query }: { readonly query: Query }) {
  const { search = "" } = query;
  if (FILTERS.every((name) => query[name] === undefined)) {
    return (
      <Empty title={`No address${namespace.value === undefined ? "" : ` of namespace ${namespace.value}`} is in use.`}>
        <p>Every address that a VM or pod has appears here as soon as it is created. To see one, create a VM:</p>
        <pre>kubectl apply -f vm.yaml</pre>
        <p>
          Its namespace has to be managed: see <a href={linkTo("namespaces")}>Namespaces</a>.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No address matches.">
      <p>
        Search a part of an address in any notation, or of the name or namespace of a VM or pod.{" "}
        <a href={linkTo("addresses")}>Show all addresses</a>
      </p>
      {/^[0-9a-f:.-]{12,17}$/i.test(search) && (
        <p>
          <a href={linkTo("check", [], { mac: search })}>Would {search} be accepted?</a>
        </p>
      )}
    </Empty>
  );
}
