import { releaseFiles } from "../../../deploy/generated-files.ts";

/** A file that `npm run release` writes, by its path below dist/release. */
export function releaseText(path: string): string {
  const file = releaseFiles().find((written) => written.path === path);
  if (file === undefined) throw new Error(`a release has no ${path}`);
  return file.text;
}
