import { type Credentials, type TlsMaterial, userCredentials } from "../kube/client/credentials.ts";
import type { Options } from "./command-line.ts";

/** The user's credentials, as the options that kubectl has as well make them. */
export async function credentialsOf(
  env: Readonly<Record<string, string | undefined>>,
  options: Options,
  context: string | undefined,
): Promise<Credentials> {
  const { kubeconfig, cluster, user, server, insecureSkipTlsVerify, token, as, asGroups } = options;
  const overrides = { context, cluster, user, server, insecureSkipTlsVerify };
  const own = await userCredentials(env, { kubeconfig, ...overrides });
  const identified = token === undefined ? own : withToken(own, token);
  return as === undefined ? identified : withImpersonation(identified, as, asGroups);
}

/** As kubectl's `--token`: in place of every other credential of the user. */
function withToken(own: Credentials, token: string): Credentials {
  let from: TlsMaterial = {};
  let without: TlsMaterial = {};
  const current = async () => {
    const { tls, headers } = await own.current();
    if (tls !== from) {
      const { cert: _cert, key: _key, passphrase: _passphrase, ...rest } = tls;
      [from, without] = [tls, rest];
    }
    return { tls: without, headers: { ...headers, authorization: `Bearer ${token}` } };
  };
  return { ...own, current };
}

/** As kubectl's `--as` and `--as-group`. */
function withImpersonation(own: Credentials, user: string, groups: readonly string[]): Credentials {
  const repeated = groups.length === 0 ? {} : { "impersonate-group": [...groups] };
  const current = async () => {
    const { tls, headers } = await own.current();
    return { tls, headers: { ...headers, "impersonate-user": user }, repeated };
  };
  return { ...own, current };
}
