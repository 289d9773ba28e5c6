/** Images of the components that other projects build: their defaults, and what the operator's environment puts in their place. Pure. */

interface PublishedImage {
  /** With the registry. */
  readonly name: string;
  readonly version: string;
  /** Of the list of architectures. */
  readonly digest: string;
}

/** By the environment variable that overrides it. The manifests in components/ fit these versions. */
export const PUBLISHED_IMAGES = {
  MULTUS_IMAGE: {
    name: "ghcr.io/k8snetworkplumbingwg/multus-cni",
    version: "4.3.0",
    digest: "sha256:2b9671447f3ea4e7e56730843dbf59445b9307246f393b61386b896d56ae51c9",
  },
  MULTUS_DYNAMIC_NETWORKS_CONTROLLER_IMAGE: {
    name: "ghcr.io/k8snetworkplumbingwg/multus-dynamic-networks-controller",
    version: "0.3.8",
    digest: "sha256:c7d137a7f4ddd81233b9778d02ae57a496e892ddedf74d49382d86df50ddcc27",
  },
  OVS_CNI_IMAGE: {
    name: "ghcr.io/k8snetworkplumbingwg/ovs-cni-plugin",
    version: "0.39.0",
    digest: "sha256:435f374b434b3bc70a5cfaba0011fdcf5f433d96b98b06d29306cbd8db3a8c21",
  },
  MACVTAP_CNI_IMAGE: {
    name: "quay.io/kubevirt/macvtap-cni",
    version: "0.13.2",
    digest: "sha256:aee6d9beb458fa76b0eab34335e2b528ad9eaff74b87be2fd62658ba77cbfa87",
  },
  KUBE_SECONDARY_DNS_IMAGE: {
    name: "ghcr.io/kubevirt/kubesecondarydns",
    version: "0.0.23",
    digest: "sha256:f5fe9c98fb6d7e5e57a6df23fe82e43e65db5953d76af44adda9ab40c46ad0bf",
  },
  CORE_DNS_IMAGE: {
    name: "registry.k8s.io/coredns/coredns",
    version: "1.10.1",
    digest: "sha256:a0ead06651cf580044aeb0a0feba63591858fb2e43ade8c9dea45a6a89ae7e5e",
  },
  KUBEVIRT_IPAM_CONTROLLER_IMAGE: {
    name: "ghcr.io/kubevirt/ipam-controller",
    version: "0.6.3",
    digest: "sha256:c26cc85bd8fa6457c1ddb1ffdb68be56d84046611591abc25aedac954c312f6c",
  },
} as const satisfies Readonly<Record<string, PublishedImage>>;

/** The environment variable that holds the image. */
export type ComponentImage = keyof typeof PUBLISHED_IMAGES;
export const COMPONENT_IMAGES = Object.keys(PUBLISHED_IMAGES) as ComponentImage[];
export type ComponentImages = Readonly<Record<ComponentImage, string>>;

const LABEL = "[a-z0-9]([a-z0-9-]*[a-z0-9])?";
const PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])";
/** A registry, and a path in it. Runtimes take a first part without dot and port for a name in a public registry. */
export const IMAGE_MIRROR_PATTERN = `^(localhost|${LABEL}([.]${LABEL})+|${LABEL}([.]${LABEL})*:${PORT})(/[a-z0-9]+(([.]|__?|-+)[a-z0-9]+)*)*$`;
export const IMAGE_MIRROR_TEXT =
  "a mirror is HOST:PORT/PATH, such as registry.example.com/mirror, without https://, tag or slash at the end";

const HOST_LABEL = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?";
const HOST = `((${HOST_LABEL}([.]${HOST_LABEL})+|\\[[0-9A-Fa-f:.]+\\])(:${PORT})?|${HOST_LABEL}:${PORT}|localhost)`;
const PATH = "[a-z0-9]+(([.]|__?|-+)[a-z0-9]+)*";
const TAG = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const DIGEST = "@sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})";
/**
 * What every node pulls as the same image: a registry, a path, and a tag, a digest or both. Without a registry each runtime asks the
 * registries of its own configuration, where the name may be somebody else's, or none.
 */
export const IMAGE_PATTERN = `^${HOST}/${PATH}(/${PATH})*(:${TAG}|(:${TAG})?${DIGEST})$`;
export const IMAGE_TEXT =
  "an image is REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:DIGEST, such as registry.example.com/multus:v4, without https://. " +
  "Images of Docker Hub begin with docker.io/";

/**
 * Of `named`, an empty one counts as not there, as Kubernetes has it with an empty image. `mirror` goes before the whole name of
 * each default, also where `named` repeats the default, as a ClusterServiceVersion does. Throws one sentence for what names no image.
 */
export function componentImages(
  named: Readonly<Partial<Record<string, string>>> = {},
  mirror: string | undefined = undefined,
): ComponentImages {
  const images = COMPONENT_IMAGES.map((variable) => {
    const { name, digest } = PUBLISHED_IMAGES[variable];
    const published = `${name}@${digest}`;
    const own = named[variable] === published ? "" : named[variable];
    if (own && !new RegExp(IMAGE_PATTERN).test(own)) throw new Error(`${variable}="${own}": ${IMAGE_TEXT}`);
    return [variable, own || (mirror ? `${mirror}/${published}` : published)] as const;
  });
  return Object.fromEntries(images) as ComponentImages;
}
