/** Paths of source files, where an executable names them: in the messages of panics and of C assertions. */

/** After a string's end, or after another path. Rust's own libraries are built elsewhere, and always name the same places. */
const ABSOLUTE = /(?<=[^\x20-\x7e]|\.rs)(?!\/rustc\/|\/rust\/deps\/)(?:\/[\w.+@-]+)+\.(?:rs|c|h)(?![\w.])/g;

/** Those that depend on where it was built: absolute ones. None of them makes the same bytes in another folder. */
export const pathsOfBuild = (executable: Buffer): string[] => executable.toString("latin1").match(ABSOLUTE) ?? [];
