/** Debian's iptables (the one that writes nftables rules), as a folder for a PATH. */

import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { unpackDebian } from "./debian-package.ts";

const PACKAGES = ["iptables", "libxtables12", "libip4tc2", "libip6tc2", "libnftnl11", "libmnl0"];
const LIBRARIES = "usr/lib/x86_64-linux-gnu";

/** Makes the folder `directory`, with `iptables` and `ip6tables`; undefined where the package can't be had. */
export async function iptablesAt(directory: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const root = await unpackDebian(PACKAGES, env);
  if (root === undefined) return undefined;
  await mkdir(directory, { recursive: true });
  for (const program of ["iptables", "ip6tables"]) {
    const script = `#!/bin/sh
export LD_LIBRARY_PATH=${root}/${LIBRARIES} XTABLES_LIBDIR=${root}/${LIBRARIES}/xtables
exec ${root}/usr/sbin/xtables-nft-multi ${program} "$@"
`;
    await writeFile(path.join(directory, program), script, { mode: 0o755 });
  }
  return directory;
}
