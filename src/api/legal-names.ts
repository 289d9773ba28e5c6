/** What the API server accepts as a name. */

export const LABEL_PATTERN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const LABEL = new RegExp(LABEL_PATTERN);
const SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
export const SUBDOMAIN_PATTERN = `^${SUBDOMAIN}$`;
const NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?";
const QUALIFIED_PART = new RegExp(`^${NAME}$`);
/** A rule has to say besides that the domain has at most 253 characters. */
export const LABEL_KEY_PATTERN = `^(${SUBDOMAIN}/)?${NAME}$`;
export const LABEL_VALUE_PATTERN = `^(${NAME})?$`;

export const KEY_TEXT =
  "has to be the key of a label: NAME or DOMAIN/NAME, with at most 63 letters, digits, dots, hyphens and underscores in NAME";
export const VALUE_TEXT =
  "has to be the value of a label: empty, or at most 63 letters, digits, dots, hyphens and underscores, with a letter or digit at both ends";

export const MAX_SUBDOMAIN = 253;
export const MAX_LABEL = 63;
export const MAX_LABEL_KEY = MAX_SUBDOMAIN + 1 + MAX_LABEL;
/** A quota counts the resource under a name with this before it, which has to be legal too. */
const QUOTA_PREFIX = "requests.";

/** A DNS subdomain: the name of a NetworkAttachmentDefinition. */
export function isObjectName(text: string): boolean {
  return text.length <= MAX_SUBDOMAIN && text.split(".").every((label) => LABEL.test(label));
}

export function isNamespaceName(text: string): boolean {
  return text.length <= MAX_LABEL && LABEL.test(text);
}

/** An extended resource: `<domain>/<name>`, where the domain is not Kubernetes' own. */
export function isResourceName(text: string): boolean {
  const [domain = "", name, ...rest] = text.split("/", 3);
  return (
    name !== undefined &&
    rest.length === 0 &&
    isObjectName(QUOTA_PREFIX + domain) &&
    !domain.startsWith(QUOTA_PREFIX) &&
    !domain.endsWith("kubernetes.io") &&
    QUALIFIED_PART.test(name)
  );
}

/** `[<domain>/]<name>`. */
export function isLabelKey(text: string): boolean {
  const parts = text.split("/", 3);
  const [domain, name] = parts.length === 1 ? [undefined, text] : parts;
  return parts.length < 3 && QUALIFIED_PART.test(name ?? "") && (domain === undefined || isObjectName(domain));
}

export function isLabelValue(text: string): boolean {
  return text === "" || QUALIFIED_PART.test(text);
}
