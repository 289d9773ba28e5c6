/** Fields in which the API server takes text only, and a value without quotes may be something else for kubectl. */

type Fields = Readonly<Record<string, unknown>>;

/** A sentence about the first value that is no text. */
export function notTextIn(object: object): string | undefined {
  const { metadata, spec } = object as { readonly metadata?: unknown; readonly spec?: unknown };
  const template = fieldsOf(fieldsOf(spec).template);
  const devices = fieldsOf(fieldsOf(fieldsOf(template.spec ?? spec).domain).devices);
  const interfaces = Array.isArray(devices.interfaces) ? devices.interfaces : [];
  const texts = [
    ...textsOf(fieldsOf(metadata), "metadata"),
    ...textsOf(fieldsOf(template.metadata), "spec.template.metadata"),
    ...interfaces.map((nic, index) => [`macAddress of interfaces[${index}]`, fieldsOf(nic).macAddress] as const),
  ];
  const [place, value] = texts.find(([, one]) => typeof one === "boolean" || typeof one === "number") ?? [];
  if (place === undefined) return undefined;
  return `${place} is the ${typeof value} ${value} for kubectl, and the API server takes text only. Write it between quotes.`;
}

function textsOf({ name, generateName, namespace, labels, annotations }: Fields, place: string) {
  const maps = { labels, annotations };
  return [
    ...Object.entries({ name, generateName, namespace }).map(([key, value]) => [`${place}.${key}`, value] as const),
    ...Object.entries(maps).flatMap(([map, entries]) =>
      Object.entries(fieldsOf(entries)).map(([key, value]) => [`${place}.${map}["${key}"]`, value] as const),
    ),
  ];
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
