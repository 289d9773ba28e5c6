import { describeRefused } from "../../api/refusal-text.ts";
import type { DenialView } from "../../mac-pool/inspection/rest/views.ts";
import { MacLink } from "../parts/mac-link.tsx";
import { OwnerLink } from "../parts/owner-link.tsx";
import { Time } from "../parts/time.tsx";
import { linkTo } from "../route.ts";
import { count } from "../text.ts";
import { CollisionCard } from "../views/collisions.tsx";
import { FindingCard } from "../views/consistency.tsx";
import { isBad, type Problem } from "./problem-list.ts";

const MAX_OWNERS = 5;

/** Each problem with what to do about it. */
export function ProblemCards({ problems }: { readonly problems: readonly Problem[] }) {
  return (
    <ul class="cards">
      {problems.map((problem) => (
        <ProblemCard key={problem.key} problem={problem} />
      ))}
    </ul>
  );
}

function ProblemCard({ problem }: { readonly problem: Problem }) {
  if (problem.kind === "collision") return <CollisionCard collision={problem.collision} />;
  if (problem.kind === "finding") return <FindingCard finding={problem.finding} isBad={isBad(problem)} />;
  return <RefusalsCard denials={problem.denials} />;
}

/** The text is what the author of the newest one was told: it ends with what to do. */
function RefusalsCard({ denials }: { readonly denials: readonly [DenialView, ...DenialView[]] }) {
  const [newest] = denials;
  const times = denials.reduce((sum, denial) => sum + denial.count, 0);
  const refused = [...new Map(denials.map((each) => [`${each.kind}/${each.namespace}/${each.name}`, each])).values()];
  const more = refused.length - MAX_OWNERS;
  return (
    <li class="card warn">
      <p class="when">
        <Time at={newest.at} />
        {times > 1 && <span class="tag">{count(times)} times</span>}
      </p>
      <h3>{describeRefused(denials)}</h3>
      <p>{newest.message}</p>
      <p class="owners">
        Refused:
        {refused.slice(0, MAX_OWNERS).map((denial) => (
          <OwnerLink key={denial.id} owner={denial} />
        ))}
        {more > 0 && <a href={linkTo("refusals")}>{count(more)} more</a>}
        {newest.mac !== undefined && (
          <span>
            for <MacLink mac={newest.mac} />
          </span>
        )}
      </p>
    </li>
  );
}
