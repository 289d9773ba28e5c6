import { describe, expect, it } from "vitest";
import {
  componentImages,
  IMAGE_MIRROR_PATTERN,
  PUBLISHED_IMAGES,
} from "../../../src/operator/config/component-images.ts";

const MULTUS = `${PUBLISHED_IMAGES.MULTUS_IMAGE.name}@${PUBLISHED_IMAGES.MULTUS_IMAGE.digest}`;
const MIRROR = "registry.example.com/mirror";

describe("the images of other projects", () => {
  it("come from the mirror under their whole names, unless a variable names another", () => {
    const own = "registry.example.com/own/ovs@sha256:1";
    const images = componentImages({ OVS_CNI_IMAGE: own }, MIRROR);
    expect(images.MULTUS_IMAGE).toBe(`${MIRROR}/${MULTUS}`);
    expect(images.OVS_CNI_IMAGE).toBe(own);
    for (const none of [undefined, ""]) expect(componentImages({}, none).MULTUS_IMAGE).toBe(MULTUS);
  });

  it("come from the mirror, too, where a variable repeats the default, as a ClusterServiceVersion has it", () => {
    expect(componentImages(componentImages(), MIRROR)).toEqual(componentImages({}, MIRROR));
  });

  it.each([
    ...["registry.example.com", "registry.example.com/a/b_c", "localhost", "localhost:5000/m", "10.0.0.1:5000/m"],
    ...["registry:65535", "a--b.example.com:1/a__b/c--d.e"],
  ])("can be mirrored at %s", (prefix) => expect(prefix).toMatch(new RegExp(IMAGE_MIRROR_PATTERN)));

  it.each([
    "https://registry.example.com",
    "registry.example.com/",
    "registry.example.com/m:1",
    "registry.example.com/m@sha256:1",
    "registry.example.com/M",
    "registry.example.com/../m",
    "a registry.example.com",
    "mirror",
    "mirror/images",
    ...["registry.example.com/a..b", "registry.example.com/a___b", "registry..example.com", "-a.example.com"],
    ...["registry.example.com:99999", "registry.example.com:65536", "localhost:0", "localhost:05000/m"],
    "",
  ])("can't be mirrored at %j", (prefix) => expect(prefix).not.toMatch(new RegExp(IMAGE_MIRROR_PATTERN)));
});
