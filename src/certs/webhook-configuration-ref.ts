/** A webhook configuration whose caBundle is maintained, written `Mutating/name` or `Validating/name`. */
export interface WebhookConfigurationRef {
  readonly kind: "Mutating" | "Validating";
  readonly name: string;
}

/** A list separated by commas. Throws with the wrong entry. */
export function parseWebhookConfigurationRefs(text: string): WebhookConfigurationRef[] {
  return text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry) => {
      const [kind, name, ...rest] = entry.split("/");
      if ((kind !== "Mutating" && kind !== "Validating") || !name || rest.length > 0) {
        throw new Error(`webhook configuration ${JSON.stringify(entry)} is not Mutating/<name> or Validating/<name>`);
      }
      return { kind, name };
    });
}
