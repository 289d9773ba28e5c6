import type { ConsistencyView as Consistency, FindingView } from "../../mac-pool/inspection/rest/views.ts";
import { Empty } from "../parts/empty.tsx";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { Portion } from "../parts/portion.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { Time } from "../parts/time.tsx";
import { linkTo } from "../route.ts";
import { count } from "../text.ts";
import { useQuery } from "../use-query.ts";

export function ConsistencyView() {
  const answer = useQuery<Consistency>("consistency");
  const state = answer.value.value;
  return (
    <>
      <p class="lead">Claims and objects have to agree on who has which address. Each finding says what to do.</p>
      <ProblemNotice problem={answer.problem} isStale={state !== undefined} />
      {state === undefined && <p class="quiet">Asking the pool.</p>}
      {state !== undefined && (
        <>
          <Portion items={state.findings}>{(first = []) => <FindingTable findings={first} />}</Portion>
          {state.total > state.findings.length && (
            <p class="quiet">
              The pool tells the first {count(state.findings.length)} of {count(state.total)} findings.
            </p>
          )}
          <h2>State of the pool</h2>
          <Health state={state} />
        </>
      )}
    </>
  );
}

export function FindingTable({ findings }: { readonly findings: readonly FindingView[] }) {
  if (findings.length === 0) {
    return (
      <Empty title="Everything agrees.">
        <p>
          Every claim has an owner that exists, every address of a VM or pod has a claim, nothing waits longer than it
          should, and one replica leads.
        </p>
      </Empty>
    );
  }
  return (
    <ul class="cards">
      {findings.map(({ code, mac, pool, owner, since, message, advice }) => (
        <li key={`${code}/${mac}/${pool}/${owner?.namespace}/${owner?.name}`} class="card warn">
          <p class="when">
            {since !== undefined && <Time at={since} />}
            <span class="tag">{code}</span>
          </p>
          <h3>
            {mac !== undefined && <MacLink mac={mac} />} {owner !== undefined && <OwnerLink owner={owner} />}
            {pool !== undefined && <a href={linkTo("map", [pool])}>pool {pool}</a>}
          </h3>
          <p>{message}</p>
          <p>
            <strong>What to do:</strong> {advice}
          </p>
        </li>
      ))}
    </ul>
  );
}

function Health({ state }: { readonly state: Consistency }) {
  const { adoption, leader, replicas, caches } = state;
  return (
    <dl class="facts">
      <div>
        <dt>Leader</dt>
        <dd>
          {leader === null ? "not known" : leader.identity}
          {leader?.since !== undefined && (
            <>
              , became leader <Time at={leader.since} />
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>Adoption of what was there before the pool</dt>
        <dd>{adoption.message}</dd>
      </div>
      <div>
        <dt>Replicas</dt>
        <dd>
          {replicas.map(({ name, answers }) => (
            <span key={name} class={answers ? "tag" : "tag bad"}>
              {name}
              {!answers && " does not answer"}
            </span>
          ))}
        </dd>
      </div>
      <div>
        <dt>This replica knows</dt>
        <dd>{caches.map(({ kind, objects }) => `${kind}: ${count(objects)}`).join(", ")}</dd>
      </div>
    </dl>
  );
}
