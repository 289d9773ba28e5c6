import { signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { BridgeView, ListView, NetworkView } from "../../mac-pool/inspection/rest/views.ts";
import { askAll } from "../client.ts";
import { goTo, route } from "../navigation.ts";
import { bridgeGroups, nodeColumns } from "../networks/bridge-groups.ts";
import { NetworkList } from "../networks/network-list.tsx";
import { NETWORK_COLUMNS, networkRow } from "../networks/network-rows.ts";
import { NetworkTable } from "../networks/network-table.tsx";
import { keyOf, VERDICTS } from "../networks/settings.ts";
import { Empty } from "../parts/empty.tsx";
import { ExportButtons } from "../parts/export-buttons.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { linkTo } from "../route.ts";
import { namespace } from "../session.ts";
import { count } from "../text.ts";
import { useQuery } from "../use-query.ts";

/** Each refresh reads them again: fewer than 200 kB. */
const STEP = 50;
/** The pool sends no more at once. */
const MOST = 500;

const narrow = matchMedia("(max-width: 700px)");
const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", ({ matches }) => {
  isNarrow.value = matches;
});

export function NetworksView() {
  const search = route.value.query.search ?? "";
  const limit = useSignal(STEP);
  const networks = useQuery<ListView<NetworkView>>("networks", { search, limit: limit.value });
  const bridges = useQuery<ListView<BridgeView>>("bridges", { limit: limit.value });
  const shownNetworks = useLast(networks.value.value);
  const shownBridges = useLast(bridges.value.value);
  const isKnown = shownNetworks !== undefined && shownBridges !== undefined;
  const groups = isKnown ? bridgeGroups(shownNetworks, shownBridges, search) : [];
  return (
    <>
      <p class="lead">
        Which network leads to which bridge, and on which node. A number is running VMs; its sign says whether another
        one could start there.
      </p>
      <ProblemNotice
        problem={networks.problem.value === undefined ? bridges.problem : networks.problem}
        isStale={isKnown}
      />
      <SearchNetworks search={search} />
      <ul class="legend" aria-label="Signs">
        <li>7: running VMs</li>
        <li>MTU: bytes</li>
        {VERDICTS.map(({ verdict, meaning }) => (
          <li key={verdict}>
            <span class={`verdict ${keyOf(verdict)}`}>{verdict === "Works" ? `a VM ${meaning}` : meaning}</span>
          </li>
        ))}
      </ul>
      {!isKnown && networks.problem.value === undefined && <p class="quiet">Asking the pool.</p>}
      {groups.length > 0 && isNarrow.value && <NetworkList groups={groups} />}
      {groups.length > 0 && !isNarrow.value && <NetworkTable groups={groups} nodes={nodeColumns(groups)} />}
      {isKnown && groups.length === 0 && <NoNetwork search={search} />}
      {isKnown && (shownNetworks.continue ?? shownBridges.continue) !== undefined && (
        <p>
          {limit.value < MOST && (
            <button
              type="button"
              onClick={() => {
                limit.value += STEP;
              }}
            >
              Show more
            </button>
          )}{" "}
          <span class="quiet">
            {partText(shownNetworks, "networks")} {partText(shownBridges, "bridges")}
          </span>
        </p>
      )}
      {isKnown && shownNetworks.total > 0 && <ExportNetworks search={search} />}
    </>
  );
}

function ExportNetworks({ search }: { readonly search: string }) {
  const all = (progress: (items: number) => void) => askAll<NetworkView>("networks", { search, limit: MOST }, progress);
  return (
    <ExportButtons
      name="networks"
      columns={NETWORK_COLUMNS}
      rows={async (progress) => (await all(progress)).map(networkRow)}
      objects={all}
    />
  );
}

function partText({ items, total, continue: next }: ListView<object>, what: string): string {
  return next === undefined ? "" : `${count(items.length)} of ${count(total)} ${what} are shown.`;
}

/** The answer to an earlier question until the next one is there. */
function useLast<T>(value: T | undefined): T | undefined {
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  return last.current;
}

function SearchNetworks({ search }: { readonly search: string }) {
  return (
    <form class="inline" onSubmit={(event) => event.preventDefault()}>
      <label>
        Bridge, namespace or network contains{" "}
        <input
          type="search"
          maxLength={253}
          autocomplete="off"
          spellcheck={false}
          value={search}
          onInput={({ currentTarget }) =>
            goTo(linkTo("networks", [], { search: currentTarget.value.trim() }), "replace")
          }
        />
      </label>
    </form>
  );
}

function NoNetwork({ search }: { readonly search: string }) {
  if (search !== "") return <Empty title="No bridge and no network has such a name.">{null}</Empty>;
  return (
    <Empty title={`There is no network${namespace.value === undefined ? "" : ` in namespace ${namespace.value}`}.`}>
      <p>
        A NetworkAttachmentDefinition appears here as soon as it exists, and a bridge as soon as the bridge marker of
        linuxBridge reports it.
      </p>
    </Empty>
  );
}
