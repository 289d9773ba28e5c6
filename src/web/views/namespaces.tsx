import { useSignal } from "@preact/signals";
import type { ListView, NamespaceView } from "../../mac-pool/inspection/rest/views.ts";
import { Empty } from "../parts/empty.tsx";
import { ExportButtons } from "../parts/export-buttons.tsx";
import { PoolLink } from "../parts/pool-link.tsx";
import { Portion } from "../parts/portion.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { ScrollRegion } from "../parts/scroll-region.tsx";
import { linkTo } from "../route.ts";
import { count } from "../text.ts";
import { useQuery } from "../use-query.ts";

const COLUMNS = ["namespace", "vms", "vms because", "pods", "pods because", "pool", "claims", "limit"];

export function NamespacesView() {
  const answer = useQuery<ListView<NamespaceView>>("namespaces");
  const filter = useSignal("");
  const list = answer.value.value;
  const shown = list?.items.filter(({ name }) => name.includes(filter.value.trim().toLowerCase()));
  const all = list?.items ?? [];
  return (
    <>
      <p class="lead">
        Labels of a namespace decide whether the pool manages its VMs and pods. Those that are not managed get no
        address from the pool and can have any.
      </p>
      <ProblemNotice problem={answer.problem} isStale={list !== undefined} />
      <form class="inline" onSubmit={(event) => event.preventDefault()}>
        <label>
          Name contains{" "}
          <input
            type="search"
            maxLength={63}
            spellcheck={false}
            value={filter.value}
            onInput={({ currentTarget }) => {
              filter.value = currentTarget.value;
            }}
          />
        </label>
      </form>
      {shown !== undefined && shown.length > 0 && (
        <Portion items={shown}>{(first = []) => <NamespaceTable namespaces={first} />}</Portion>
      )}
      {shown?.length === 0 && (
        <Empty title="No namespace has such a name.">
          <p>A namespace appears here as soon as it exists.</p>
        </Empty>
      )}
      <ExportButtons name="namespaces" columns={COLUMNS} rows={async () => all.map(rowOf)} objects={async () => all} />
    </>
  );
}

function rowOf({ name, vms, pods, because, pool = "", claims, limit }: NamespaceView): string[] {
  return [name, String(vms), because.vms, String(pods), because.pods, pool, String(claims), limit?.toString() ?? ""];
}

function NamespaceTable({ namespaces }: { readonly namespaces: readonly NamespaceView[] }) {
  return (
    <ScrollRegion label="Namespaces">
      <table class="stacked">
        <thead>
          <tr>
            <th scope="col">Namespace</th>
            <th scope="col">VMs</th>
            <th scope="col">Pods</th>
            <th scope="col" class="wide">
              Pool
            </th>
            <th scope="col" class="right">
              Addresses
            </th>
          </tr>
        </thead>
        <tbody>
          {namespaces.map(({ name, vms, pods, because, pool, claims, limit }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <span class="label">VMs </span>
                <Managed is={vms} because={because.vms} />
              </td>
              <td>
                <span class="label">Pods </span>
                <Managed is={pods} because={because.pods} />
              </td>
              <td class="wide">{pool === undefined ? <span class="quiet">none</span> : <PoolLink pool={pool} />}</td>
              <td class={limit !== undefined && claims >= limit ? "right bad" : "right"}>
                <a href={linkTo("addresses", [], { namespace: name })}>{count(claims)}</a>
                {limit !== undefined && ` of ${count(limit)}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  );
}

function Managed({ is, because }: { readonly is: boolean; readonly because: string }) {
  return (
    <>
      {is ? "managed" : <strong>not managed</strong>} <small class="quiet">{because}</small>
    </>
  );
}
