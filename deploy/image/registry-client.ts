/** A repository of a registry, by the OCI distribution specification 1.1: as much of it as a push needs. */

import { ImageError } from "./image-error.ts";
import type { Descriptor } from "./oci.ts";
import type { Credentials } from "./registry-credentials.ts";

export interface RepositoryOptions {
  /** Host and port. */
  readonly registry: string;
  readonly repository: string;
  readonly credentials: Credentials | undefined;
}

interface Request {
  readonly method: "HEAD" | "GET" | "POST" | "PUT";
  readonly body?: Buffer;
  readonly type?: string;
}

const TIMEOUT_MS = 300_000;
/** Registries on this machine speak plain HTTP, as every client of registries takes it. */
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?$/;

export class Repository {
  readonly #options: RepositoryOptions;
  readonly #base: string;
  #authorization: string | undefined;

  constructor(options: RepositoryOptions) {
    this.#options = options;
    const scheme = LOOPBACK.test(options.registry) ? "http" : "https";
    this.#base = `${scheme}://${options.registry}/v2/${options.repository}`;
  }

  /** Sends the content unless the registry has it. */
  async putBlob(digest: string, content: Buffer): Promise<void> {
    const known = await this.#send(`${this.#base}/blobs/${digest}`, { method: "HEAD" }, [200, 404]);
    if (known.status === 200) return;
    const begun = await this.#send(`${this.#base}/blobs/uploads/`, { method: "POST" }, [202]);
    const upload = new URL(begun.headers.get("location") ?? "", this.#base);
    upload.searchParams.set("digest", digest);
    await this.#send(upload.href, { method: "PUT", body: content, type: "application/octet-stream" }, [201]);
  }

  /** `reference`: a tag or the manifest's digest. Its blobs must be there. */
  async putManifest(reference: string, { mediaType }: Descriptor, content: Buffer): Promise<void> {
    await this.#send(`${this.#base}/manifests/${reference}`, { method: "PUT", body: content, type: mediaType }, [201]);
  }

  async #send(url: string, request: Request, expected: readonly number[]): Promise<Response> {
    let answer = await this.#fetch(url, request);
    if (answer.status === 401 && (await this.#authorize(answer.headers.get("www-authenticate") ?? ""))) {
      answer = await this.#fetch(url, request);
    }
    if (expected.includes(answer.status)) {
      await answer.body?.cancel();
      return answer;
    }
    throw new ImageError(await this.#refusal(answer));
  }

  async #fetch(url: string, { method, body, type }: Request): Promise<Response> {
    // A credential is for its registry alone, wherever an upload may go to.
    const own = new URL(url).host === new URL(this.#base).host;
    const headers = {
      ...(own && this.#authorization !== undefined ? { authorization: this.#authorization } : {}),
      ...(type === undefined ? {} : { "content-type": type }),
    };
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      return await fetch(url, {
        method,
        headers,
        signal,
        ...(body === undefined ? {} : { body: new Uint8Array(body) }),
      });
    } catch (cause) {
      const reason =
        (cause as Error).cause instanceof Error ? ((cause as Error).cause as Error).message : String(cause);
      throw new ImageError(`The registry ${this.#options.registry} can't be reached: ${reason}`, { cause });
    }
  }

  /** Whether it is worth asking again. */
  async #authorize(challenge: string): Promise<boolean> {
    const { credentials } = this.#options;
    const basic =
      credentials === undefined
        ? undefined
        : `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;
    const before = this.#authorization;
    this.#authorization = /^bearer /i.test(challenge) ? await this.#token(challenge, basic) : basic;
    return this.#authorization !== undefined && this.#authorization !== before;
  }

  async #token(challenge: string, basic: string | undefined): Promise<string | undefined> {
    const parameters = new Map(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = "", value = ""]) => [key, value]),
    );
    const realm = new URL(parameters.get("realm") ?? "", this.#base);
    if (realm.protocol !== "https:" && !LOOPBACK.test(realm.host)) {
      throw new ImageError(
        `The registry ${this.#options.registry} asks for the password over plain HTTP, at ${realm.host}`,
      );
    }
    const service = parameters.get("service");
    if (service !== undefined) realm.searchParams.set("service", service);
    realm.searchParams.set("scope", `repository:${this.#options.repository}:pull,push`);
    const headers = basic === undefined ? {} : { authorization: basic };
    const answer = await fetch(realm, { headers, signal: AbortSignal.timeout(TIMEOUT_MS) });
    if (!answer.ok) return undefined;
    const { token, access_token: accessToken } = (await answer.json()) as { token?: string; access_token?: string };
    const found = token ?? accessToken;
    return found === undefined ? undefined : `Bearer ${found}`;
  }

  async #refusal(answer: Response): Promise<string> {
    const { registry, repository, credentials } = this.#options;
    const status = `HTTP ${answer.status}`;
    if (answer.status === 401) {
      return credentials === undefined
        ? `The registry ${registry} wants a login (${status}): run \`docker login ${registry}\``
        : `The registry ${registry} refuses the login of ${credentials.username} (${status}): run \`docker login ${registry}\``;
    }
    if (answer.status === 403) return `The registry ${registry} does not allow to push to ${repository} (${status})`;
    const text = (await answer.text()).slice(0, 200).trim();
    return `The registry ${registry} did not take ${repository} (${status}): ${text || "no reason given"}`;
  }
}
