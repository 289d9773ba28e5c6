/** Command lines that run inside a container, as root there. */

/** `pid` is the container's first process as this process sees it. */
export const enterContainer = (pid: number, argv: readonly string[]): string[] => [
  "nsenter",
  `--target=${pid}`,
  ...["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd=/"],
  "--",
  ...argv,
];
