import { systemClock } from "../../../../src/kube/clock.ts";
import { silentLog } from "../../../../src/kube/log.ts";
import { HttpServer, type HttpServerOptions } from "../../../../src/kube/server/http-server.ts";
import { readPage, routePage } from "../../../../src/mac-pool/inspection/rest/page.ts";
import { ReaderAccess } from "../../../../src/mac-pool/inspection/rest/reader-access.ts";
import { routeInspection } from "../../../../src/mac-pool/inspection/rest/rest.ts";
import { writePage } from "../../../../src/web/build/build.ts";
import type { InspectionFixture } from "../inspection-fixture.ts";

/**
 * The REST interface and the page on loopback, over caches that no API server fills. Whoever sends a
 * token may see everything. Unless a user is named, each question is of another one: what one may ask in a second plays no part.
 */
export class InspectionServer implements AsyncDisposable {
  readonly #server: HttpServer;

  private constructor(server: HttpServer) {
    this.#server = server;
  }

  /** By HTTPS when `tls` is given. Ends without the fixture. */
  static async start(
    { inspector }: InspectionFixture,
    { tls, username }: Pick<HttpServerOptions, "tls"> & { readonly username?: string } = {},
  ): Promise<InspectionServer> {
    const server = new HttpServer({ port: 0, host: "127.0.0.1", ...(tls === undefined ? {} : { tls }) });
    let users = 0;
    const newUser = () => ({ username: username ?? `viewer-${users++}`, uid: "", groups: [], extra: {} });
    const access = new ReaderAccess({
      tokens: { userOf: async () => newUser() },
      access: { isAllowed: async () => true },
      self: async () => undefined,
      clock: systemClock,
    });
    const readiness = (): true => true;
    routeInspection(server.app, {
      inspector,
      access,
      readiness,
      hold: server.hold,
      clock: systemClock,
      log: silentLog,
    });
    routePage(server.app, await readPage(await writePage(), silentLog));
    await server.listen();
    return new InspectionServer(server);
  }

  get port(): number {
    return this.#server.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
