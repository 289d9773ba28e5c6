import type { DenialView } from "../../mac-pool/inspection/rest/views.ts";
import { denialList, denials } from "../live-lists.ts";
import { Empty } from "../parts/empty.tsx";
import { ExportButtons } from "../parts/export-buttons.tsx";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { Portion } from "../parts/portion.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { SilentReplicas } from "../parts/silent-replicas.tsx";
import { Time } from "../parts/time.tsx";
import { count } from "../text.ts";

export function RefusalsView() {
  const shown = denials.value;
  return (
    <>
      <p class="lead">The pool refused these objects. The newest is first. The text is what its author was told.</p>
      <ProblemNotice problem={denialList.problem} isStale={shown !== undefined} />
      <SilentReplicas names={denialList.partial.value} />
      <Portion items={shown}>{(first) => <RefusalTable denials={first} />}</Portion>
      {shown !== undefined && shown.length > 0 && (
        <ExportButtons
          name="refusals"
          columns={COLUMNS}
          rows={async () => shown.map(rowOf)}
          objects={async () => shown}
        />
      )}
    </>
  );
}

const COLUMNS = [
  "at",
  "count",
  "code",
  "kind",
  "namespace",
  "name",
  "interface",
  "mac",
  "dryRun",
  "replica",
  "message",
];

function rowOf(denial: DenialView): string[] {
  const {
    at,
    count: times,
    code,
    kind,
    namespace,
    name,
    interface: nic = "",
    mac = "",
    dryRun,
    replica,
    message,
  } = denial;
  return [at, String(times), code, kind, namespace, name, nic, mac, String(dryRun), replica, message];
}

function RefusalTable({ denials: shown }: { readonly denials: readonly DenialView[] | undefined }) {
  if (shown === undefined) return <p class="quiet">Asking the pool.</p>;
  if (shown.length === 0) {
    return (
      <Empty title="Nothing was refused.">
        <p>
          A VM or pod is refused when another one has the address that it asks for, when no network card can have that
          address, or when its pool is full. The replicas remember their last refusals until they restart.
        </p>
      </Empty>
    );
  }
  return (
    <ul class="cards">
      {shown.map((denial) => (
        <li key={`${denial.replica}/${denial.id}`} class="card">
          <p class="when">
            <Time at={denial.at} />
            {denial.count > 1 && <span class="tag">{count(denial.count)} times</span>}
            {denial.dryRun && <span class="tag">dry run</span>}
          </p>
          <h3>
            <OwnerLink owner={denial} />
            {denial.interface !== undefined && <span class="quiet"> {denial.interface}</span>}
            {denial.mac !== undefined && (
              <>
                {" "}
                <MacLink mac={denial.mac} />
              </>
            )}
          </h3>
          <p>{denial.message}</p>
          <p class="quiet">
            {denial.code}, replica {denial.replica}
            {denial.count > 1 && (
              <>
                , first <Time at={denial.first} />
              </>
            )}
          </p>
        </li>
      ))}
    </ul>
  );
}
