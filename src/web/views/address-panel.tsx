import { useLayoutEffect } from "preact/hooks";
import type { CheckView, ClaimView, OwnerHistoryView, OwnerView } from "../../mac-pool/inspection/rest/views.ts";
import { goTo } from "../navigation.ts";
import { segmentText } from "../networks/settings.ts";
import { Beside } from "../parts/beside.tsx";
import { CopyButton } from "../parts/copy-button.tsx";
import { HostNotice } from "../parts/host-notice.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { PhaseTag } from "../parts/phase-tag.tsx";
import { PoolLink } from "../parts/pool-link.tsx";
import { ProblemNotice } from "../parts/problem-notice.tsx";
import { Time } from "../parts/time.tsx";
import { linkTo } from "../route.ts";
import { namespace } from "../session.ts";
import { count } from "../text.ts";
import { useQuery } from "../use-query.ts";
import { HistoryList } from "./owner.tsx";

const NOT_FOUND = 404;

/** Everything about one address. Escape closes it. */
export function AddressPanel({ mac, back }: { readonly mac: string; readonly back: string }) {
  const answer = useQuery<ClaimView>(`claims/${encodeURIComponent(mac)}`);
  // Before the next frame: whoever sees the panel can close it.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape") goTo(back);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [back]);
  const claim = answer.value.value;
  // A claim does not tell who lists its address without being an owner.
  const place = namespace.value ?? "default";
  const checked = useQuery<CheckView>("check", { mac, namespace: place }).value.value;
  const isFree = answer.problem.value?.status === NOT_FOUND;
  return (
    <aside class="panel" aria-label={`Address ${mac}`}>
      <div class="panel-head">
        <h2 class="mac">{mac}</h2>
        <a href={back} class="close" aria-label="Close">
          ×
        </a>
      </div>
      <p>
        <CopyButton text={mac} what="address" /> <CopyButton text={location.href} what="link" />
      </p>
      {isFree ? (
        <>
          <p>
            No claim{namespace.value !== undefined && ` of namespace ${namespace.value}`} has this address.{" "}
            <a href={linkTo("check", [], { mac })}>Would it be accepted?</a>
          </p>
          {checked !== undefined && <Unclaimed checked={checked} />}
        </>
      ) : (
        <ProblemNotice problem={answer.problem} isStale={claim !== undefined} />
      )}
      {claim !== undefined && !isFree && <Details claim={claim} listedBy={checked?.listedBy ?? []} />}
    </aside>
  );
}

function Unclaimed({ checked }: { readonly checked: CheckView }) {
  const { holders, elsewhere, hostAddress } = checked;
  return (
    <>
      {holders.map((holder) => (
        <p key={`${holder.kind}/${holder.namespace}/${holder.name}/${holder.interface}`}>
          <OwnerLink owner={holder} /> has it for interface {holder.interface}.
        </p>
      ))}
      {elsewhere > 0 && <p>Holders in namespaces that you may not see: {count(elsewhere)}.</p>}
      {hostAddress !== undefined && <p>It is the address of {hostAddress}.</p>}
      <Beside {...checked} />
    </>
  );
}

interface DetailsProps {
  readonly claim: ClaimView;
  readonly listedBy: NonNullable<CheckView["listedBy"]>;
}

function Details({ claim, listedBy }: DetailsProps) {
  const { phase, origin, pool, range, rangePool, inRange, created, deadline, until, owners, elsewhere, name } = claim;
  return (
    <>
      <HostNotice {...claim} />
      <dl class="facts">
        <div>
          <dt>Phase</dt>
          <dd>
            <PhaseTag phase={phase} />
            {deadline !== undefined && (
              <>
                {" "}
                It waits for its object and ends <Time at={deadline} />.
              </>
            )}
            {until !== undefined && (
              <>
                {" "}
                It can be given out again <Time at={until} />.
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Origin</dt>
          <dd>
            {origin}
            {!inRange && ", outside all ranges"}
          </dd>
        </div>
        {(pool !== undefined || elsewhere === 0) && (
          <div>
            <dt>Pool</dt>
            <dd>
              {pool === undefined ? "none" : <PoolLink pool={pool} />}
              {range !== undefined && (
                <div class="mac quiet">
                  {rangePool !== undefined && `in the range of pool ${rangePool}: `}
                  {range.replace("-", " – ")}
                </div>
              )}
            </dd>
          </div>
        )}
        {created !== undefined && (
          <div>
            <dt>Claimed</dt>
            <dd>
              <Time at={created} />
            </dd>
          </div>
        )}
        <div>
          <dt>Object</dt>
          <dd class="mac">MACClaim {name}</dd>
        </div>
      </dl>
      <Beside {...claim} listedBy={listedBy} />
      {owners.map((owner) => (
        <Owner key={`${owner.kind}/${owner.namespace}/${owner.name}/${owner.interface}`} owner={owner} />
      ))}
      {owners.length === 0 && elsewhere === 0 && <p>No object has it.</p>}
      {elsewhere > 0 && <p>Owners in namespaces that you may not see: {count(elsewhere)}.</p>}
    </>
  );
}

function Owner({ owner }: { readonly owner: OwnerView }) {
  const { kind, namespace, name, interface: nic, network, node, pod, notRunningYet, since, origin } = owner;
  const path = name === undefined ? undefined : `owners/${[kind, namespace, name].map(encodeURIComponent).join("/")}`;
  const seen = useQuery<OwnerHistoryView>(path).value.value;
  const segment = segmentText(owner);
  return (
    <section>
      <h3>
        <OwnerLink owner={owner} />
      </h3>
      <p>
        It {origin === "explicit" ? "asked for the address" : "got the address"} <Time at={since} /> for interface {nic}
        {network !== undefined && ` on network ${network}`}
        {segment !== "" && ` (${segment})`}.{" "}
        {node === undefined
          ? "It does not run."
          : `It ${notRunningYet ? "is starting" : "runs"} on node ${node} in pod ${pod}.`}
      </p>
      {seen !== undefined && seen.history.length > 0 && <HistoryList history={seen.history} partial={seen.partial} />}
    </section>
  );
}
