import type { CustomKind } from "../../api/kinds.ts";
import type { ClaimOwner, OwnerKind } from "../../api/mac-claim.ts";
import { isNamedVirtController } from "../../api/mac-pool-scope.ts";
import { SYSTEM_NAMESPACE } from "../../api/names.ts";
import type { SubjectAccess } from "../../kube/access/subject-access.ts";
import { type User, userOf } from "../../kube/access/user.ts";
import type { Log } from "../../kube/log.ts";
import type { AdmissionAnswer, AdmissionRequest } from "../../kube/server/admission-server.ts";
import { SOMEBODY } from "../claims/named-text.ts";
import { describeObject } from "../claims/owner.ts";
import { KINDS } from "../objects/kinds.ts";
import type { Decision } from "./decision.ts";

const RESOURCE_OF: Readonly<Record<OwnerKind, Pick<CustomKind, "group" | "plural">>> = {
  VirtualMachine: KINDS.virtualMachines,
  VirtualMachineInstance: KINDS.instances,
  Pod: KINDS.pods,
};

/** Owners in other namespaces that one answer may name; each is a question to the API server. */
const MAX_ASKED = 5;
/** What they say to an account of these is told to the author of an object in any namespace, as an event. */
const CONTROLLERS = `system:serviceaccount:${SYSTEM_NAMESPACE}:`;

/** Tells an answer to the user of its request, with the names of objects in other namespaces only where they may get them. */
export class OwnerRedaction {
  readonly #access: Pick<SubjectAccess, "isAllowed">;
  readonly #log: Log;

  constructor(access: Pick<SubjectAccess, "isAllowed">, log: Log) {
    this.#access = access;
    this.#log = log;
  }

  /** Where nobody needs to be asked, the answer is there at once. */
  render({ answer, naming }: Decision, request: AdmissionRequest): AdmissionAnswer | Promise<AdmissionAnswer> {
    const foreign = naming?.owners.filter(({ namespace }) => namespace !== request.namespace) ?? [];
    return naming === undefined || foreign.length === 0 ? answer : this.#renderFor(foreign, naming.render, request);
  }

  async #renderFor(
    foreign: readonly ClaimOwner[],
    render: NonNullable<Decision["naming"]>["render"],
    { userInfo }: AdmissionRequest,
  ): Promise<AdmissionAnswer> {
    const user = userOf(userInfo);
    const asked = isRelay(user) ? [] : foreign.slice(0, MAX_ASKED);
    const allowed = await Promise.all(asked.map((owner) => this.#mayGet(user, owner)));
    const hidden = new Set(foreign.filter((_, index) => allowed[index] !== true));
    return render((owner) => (hidden.has(owner) ? SOMEBODY : describeObject(owner)));
  }

  async #mayGet(user: User, { kind, namespace, name }: ClaimOwner): Promise<boolean> {
    const { group, plural: resource } = RESOURCE_OF[kind];
    try {
      return await this.#access.isAllowed(user, { verb: "get", group, resource, namespace, name });
    } catch (error) {
      this.#log.debug({ err: error, namespace }, "could not ask what the user may see; the answer names no object");
      return false;
    }
  }
}

function isRelay({ username }: User): boolean {
  return isNamedVirtController(username) || username.startsWith(CONTROLLERS);
}
