import type { User } from "../../../../src/kube/access/user.ts";
import { silentLog } from "../../../../src/kube/log.ts";
import { HttpServer } from "../../../../src/kube/server/http-server.ts";
import { answerAsProblem } from "../../../../src/mac-pool/inspection/rest/problem.ts";
import { ReaderAccess } from "../../../../src/mac-pool/inspection/rest/reader-access.ts";
import { routeInspection } from "../../../../src/mac-pool/inspection/rest/rest.ts";
import { INSPECTION_LIMITS } from "../../../../src/mac-pool/listeners.ts";
import { ManualClock } from "../../../kube/support/manual-clock.ts";
import { eventually } from "../../../support/eventually.ts";
import { EventWatch, getFrom, type RestAnswer } from "../../rest-client.ts";
import { InspectionFixture, type InspectionFixtureOptions } from "../inspection-fixture.ts";

const HOST = "127.0.0.1";
/** Whose user other replicas are. */
export const OTHER_REPLICA = "another-replica";

/** A right in the whole cluster, or in the namespaces. */
export type Rights = "cluster" | readonly string[];

/** The REST interface over caches that a test fills, by plain HTTP. The token of a reader is his name. */
export class RestFixture implements AsyncDisposable {
  readonly clock = new ManualClock();
  /** Of readers by name; others may nothing. */
  readonly rights = new Map<string, Rights>();
  readonly #server = new HttpServer({ port: 0, host: HOST, ...INSPECTION_LIMITS, answerFailure: answerAsProblem });
  readonly access: ReaderAccess;
  readonly #strangersEnd = Promise.withResolvers<void>();
  #strangers = 0;
  #inspection: InspectionFixture | undefined;

  private constructor() {
    this.access = new ReaderAccess({
      tokens: { userOf: async (authorization) => this.#userOf(authorization?.replace("Bearer ", "") ?? "") },
      access: { isAllowed: async (user, permission) => this.#mayRead(user, permission) },
      self: async () => userNamed(OTHER_REPLICA),
      clock: this.clock,
    });
  }

  static async start(options: InspectionFixtureOptions = {}): Promise<RestFixture> {
    const fixture = new RestFixture();
    const { access, clock } = fixture;
    const inspection = await InspectionFixture.start({ clock, ...options });
    fixture.#inspection = inspection;
    const { app, hold } = fixture.#server;
    const { inspector } = inspection;
    routeInspection(app, { inspector, access, readiness: () => true, hold, clock, log: silentLog });
    await fixture.#server.listen();
    return fixture;
  }

  get inspection(): InspectionFixture {
    if (this.#inspection === undefined) throw new Error("the fixture has not started");
    return this.#inspection;
  }

  get(path: string, reader: string, headers: Readonly<Record<string, string>> = {}): Promise<RestAnswer> {
    return getFrom(this.#url, undefined, path, { token: reader, headers });
  }

  /** Asks so many questions at once, which nobody answers. */
  async exhaust(reader: string, questions: number): Promise<void> {
    const user = userNamed(reader);
    if (user === undefined) throw new Error("a reader has a name");
    for (let i = 0; i < questions; i++) await this.access.admit(user);
  }

  /** Until so many readers named `stranger...` wait for the API server to say that it does not know them. */
  async waitingStrangers(count: number): Promise<void> {
    await eventually(`${count} strangers`, () => this.#strangers === count);
  }

  refuseStrangers(): void {
    this.#strangersEnd.resolve();
  }

  /** Any other method than GET. */
  send(method: string, path: string, reader: string): Promise<RestAnswer> {
    return getFrom(this.#url, undefined, path, { token: reader, method });
  }

  watch(path: string, reader: string, lastId?: string): EventWatch {
    const headers: Record<string, string> = lastId === undefined ? {} : { "last-event-id": lastId };
    return new EventWatch(this.#url, undefined, path, { token: reader, headers });
  }

  get #url(): string {
    return `http://${HOST}:${this.#server.port}`;
  }

  async #userOf(name: string): Promise<User | undefined> {
    if (!name.startsWith("stranger")) return userNamed(name);
    this.#strangers += 1;
    await this.#strangersEnd.promise;
    return undefined;
  }

  #mayRead({ username }: User, permission: object): boolean {
    const rights = this.rights.get(username);
    const { namespace } = permission as { readonly namespace?: string | undefined };
    return rights === "cluster" || rights?.includes(namespace ?? "") === true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await this.#inspection?.[Symbol.asyncDispose]();
  }
}

function userNamed(username: string): User | undefined {
  return username === "" ? undefined : { username, uid: "", groups: [], extra: {} };
}
