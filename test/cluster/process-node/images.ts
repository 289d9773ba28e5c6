/** The images a process node can run: trees of the machine in place of image layers. */
import { IMAGE_NODE, IMAGE_ROOT, NON_ROOT } from "../../../src/api/image.ts";

export interface Image {
  readonly name: string;
  /** Node's directories and files that the container sees, read-only: [path on the node, path in the container]. */
  readonly contents: readonly (readonly [source: string, target: string])[];
  /** Of a process whose pod names none. */
  readonly user: number;
  /** Runs when the pod gives no command. */
  readonly entrypoint: readonly string[];
  /** Put before whatever runs, as an init that reaps and ends on SIGTERM; a plain pid 1 would ignore it. */
  readonly init: readonly string[];
}

/** The image of test pods that do nothing. */
export const GUEST_IMAGE = "localhost/guest:dev";

/** The stand-in of multus as its project builds it (multus/image). */
export const MULTUS_IMAGE = "localhost/multus:dev";
const MULTUS_PROGRAMS = "/usr/src/multus-cni/bin";

const GUEST_INIT = 'trap "kill -TERM $! 2>/dev/null; exit 0" TERM; "$@" & wait $!';

/** Undefined for an image that this node does not have. There is no registry. */
export function findImage(name: string, trees: Readonly<Record<string, string>>): Image | undefined {
  const tree = trees[name];
  if (tree === undefined) return undefined;
  const guest = name === GUEST_IMAGE;
  if (name === MULTUS_IMAGE) {
    const contents = [IMAGE_NODE, tree].map((source) => [source, source === tree ? MULTUS_PROGRAMS : source] as const);
    return { name, contents, user: 0, entrypoint: [`${MULTUS_PROGRAMS}/multus-daemon`], init: [] };
  }
  return {
    name,
    contents: [
      [IMAGE_NODE, IMAGE_NODE],
      [tree, guest ? `${IMAGE_ROOT}/test` : IMAGE_ROOT],
    ],
    user: guest ? 0 : NON_ROOT,
    entrypoint: guest ? ["sleep", "infinity"] : [IMAGE_NODE],
    init: guest ? ["sh", "-c", GUEST_INIT, "guest-init"] : [],
  };
}
