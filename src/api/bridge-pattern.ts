/** Patterns for names of bridges, in `NetworkAddonsConfig.spec.linuxBridge` and in the marker's flags. Part of the contract. */

/** Other characters are in no name that can be published. */
export const MARKER_PATTERN = "^[-A-Za-z0-9_.*?]+$";
export const MARKER_PATTERN_TEXT =
  "markerInclude and markerExclude list names of bridges: letters, digits, - _ . and the wildcards * (any characters) and ? " +
  "(one character)";
/** IFNAMSIZ without the closing nul. Every * may stand for no character. */
export const FITTING_PATTERN = "^([*]*[^*]){0,15}[*]*$";
export const longPatternText = (found: string): string =>
  `markerInclude and markerExclude list names of bridges, which have at most 15 characters: no bridge matches "${found}". Shorten it`;
/** With as many * as anybody needs. */
export const MAX_MARKER_PATTERN_CHARS = 32;
export const MAX_MARKER_PATTERNS = 64;
