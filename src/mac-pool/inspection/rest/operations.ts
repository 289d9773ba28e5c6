import * as z from "zod";
import type { User } from "../../../kube/access/user.ts";
import type { Inspector } from "../queries/inspector.ts";
import type { Scope } from "../queries/scope.ts";
import type { Sink } from "../watch/feed.ts";
import type { LazyLists } from "./answer-body.ts";
import { type ListView, listSchema } from "./envelopes.ts";
import * as parameters from "./parameters.ts";
import type { ReaderAccess, Wanted } from "./reader-access.ts";
import * as views from "./views.ts";

export interface Question<P, Q> {
  readonly params: P;
  readonly query: Q;
  readonly user: User;
  readonly scope: Scope;
  readonly inspector: Inspector;
  readonly access: ReaderAccess;
  /** Watches that are open. */
  readonly viewers: number;
}

/** One GET under /api/v1. The schemas `params` and `query` read a question, and `answer` describes its answer. */
interface OperationSpec<P extends z.ZodType, Q extends z.ZodType, A> {
  readonly id: string;
  /** As fastify writes it. */
  readonly path: string;
  readonly summary: string;
  /** None unless given, as of the query. */
  readonly params?: P;
  readonly query?: Q;
  readonly answer: z.ZodType<A>;
  /** The right that it needs. */
  readonly wanted: Wanted;
  /** Namespaces in any of which the right is enough; absent where only the right in the whole cluster is. */
  readonly namespacesOf?: (
    question: Pick<Question<z.infer<P>, z.infer<Q>>, "params" | "query" | "inspector">,
  ) => readonly string[];
  /** Whether the same revision gives the same answer. */
  readonly isTagged?: boolean;
  /** Whether those who ask the same and may see the same are given one answer for a moment. */
  readonly isShared?: boolean;
  readonly render: (question: Question<z.infer<P>, z.infer<Q>>) => LazyLists<A> | Promise<LazyLists<A>>;
  /** Starts to send the changes of the list; the returned function ends that. Absent where it can't be watched. */
  readonly watch?: (question: Question<z.infer<P>, z.infer<Q>>, lastId: string | undefined, sink: Sink) => () => void;
}

export type Operation = OperationSpec<z.ZodType, z.ZodType, object> & {
  readonly params: z.ZodType;
  readonly query: z.ZodType;
};

const nothing = z.strictObject({});
type Nothing = typeof nothing;

const operation = <A, P extends z.ZodType = Nothing, Q extends z.ZodType = Nothing>(
  one: OperationSpec<P, Q, A>,
): Operation => ({ params: nothing, query: nothing, ...one }) as unknown as Operation;

const LIST_POOLS: Wanted = { verb: "list", resource: "macpools" };
const GET_POOLS: Wanted = { verb: "get", resource: "macpools" };
const LIST_CLAIMS: Wanted = { verb: "list", resource: "macclaims" };
const GET_CLAIMS: Wanted = { verb: "get", resource: "macclaims" };

type InNamespace = { readonly query: { readonly namespace?: string | undefined } };
const namespaceOfQuery = ({ query }: InNamespace): readonly string[] =>
  query.namespace === undefined ? [] : [query.namespace];
const list = <T>(items: z.ZodType<T>, id: string): z.ZodType<ListView<T>> =>
  listSchema(items, id) as unknown as z.ZodType<ListView<T>>;

export const OPERATIONS: readonly Operation[] = [
  operation({
    id: "listPools",
    path: "/api/v1/pools",
    summary: "The pools, and how full they are.",
    query: parameters.poolsQuery,
    answer: list(views.poolViewSchema, "Pool"),
    wanted: LIST_POOLS,
    render: ({ inspector }) => inspector.pools(),
    watch: ({ inspector, query }, lastId, sink) => inspector.feeds.pools({ ...query, lastId }, sink),
  }),
  operation({
    id: "getPool",
    path: "/api/v1/pools/:name",
    summary: "One pool.",
    params: parameters.poolParams,
    answer: views.poolViewSchema,
    wanted: GET_POOLS,
    render: async (question) => question.inspector.pool(question.params.name, await mayList(question)),
  }),
  operation({
    id: "getMap",
    path: "/api/v1/pools/:name/map",
    summary: "The addresses of a pool, or of a part of it, in cells.",
    params: parameters.poolParams,
    query: parameters.mapQuery,
    answer: views.mapViewSchema,
    wanted: GET_POOLS,
    isTagged: true,
    isShared: true,
    render: async (question) => question.inspector.map(question.params.name, question.query, await mayList(question)),
  }),
  operation({
    id: "listClaims",
    path: "/api/v1/claims",
    summary: "Who has which address, in the order of the addresses, page by page.",
    query: parameters.claimsQuery,
    answer: list(views.claimViewSchema, "Claim"),
    wanted: LIST_CLAIMS,
    namespacesOf: namespaceOfQuery,
    isTagged: true,
    render: async ({ inspector, query, scope }) => {
      await inspector.networks.readKnown();
      return inspector.claimPage(query, scope);
    },
    watch: ({ inspector, query, scope }, lastId, sink) =>
      inspector.feeds.claims(query, scope, { ...query, lastId }, sink),
  }),
  operation({
    id: "getClaim",
    path: "/api/v1/claims/:mac",
    summary: "Who has an address.",
    params: parameters.claimParams,
    query: parameters.namespaceQuery,
    answer: views.claimViewSchema,
    wanted: GET_CLAIMS,
    namespacesOf: ({ inspector, params, query }) =>
      query.namespace === undefined ? inspector.namespacesWith(params.mac) : [query.namespace],
    isTagged: true,
    render: async ({ inspector, params, scope }) => {
      await inspector.networks.readKnown();
      return inspector.claim(params.mac, scope);
    },
  }),
  operation({
    id: "getOwner",
    path: "/api/v1/owners/:kind/:namespace/:name",
    summary: "What one VM, VMI or pod has, and what happened to it.",
    params: parameters.ownerParams,
    answer: views.ownerHistoryViewSchema,
    wanted: GET_CLAIMS,
    namespacesOf: ({ params }) => [params.namespace],
    render: ({ inspector, params, scope }) => inspector.owner(params, scope),
  }),
  operation({
    id: "listCollisions",
    path: "/api/v1/collisions",
    summary: "Addresses in use twice: by several running objects, or by one and a station outside the cluster.",
    query: parameters.watchedNamespaceQuery,
    answer: list(views.collisionViewSchema, "Collision"),
    wanted: LIST_CLAIMS,
    namespacesOf: namespaceOfQuery,
    isTagged: true,
    render: ({ inspector, query, scope }) => inspector.collisionsIn(query.namespace, scope),
    watch: ({ inspector, query, scope }, lastId, sink) =>
      inspector.feeds.collisions(query.namespace, scope, { ...query, lastId }, sink),
  }),
  operation({
    id: "listDenials",
    path: "/api/v1/denials",
    summary: "The last refusals of all replicas, the newest first.",
    query: parameters.denialsQuery,
    answer: list(views.denialViewSchema, "Denial"),
    wanted: LIST_CLAIMS,
    namespacesOf: namespaceOfQuery,
    render: ({ inspector, query, scope }) => inspector.denialsFor(query, scope),
    watch: ({ inspector, query, scope }, lastId, sink) =>
      inspector.feeds.denials(query.namespace, scope, { ...query, lastId }, sink),
  }),
  operation({
    id: "getConsistency",
    path: "/api/v1/consistency",
    summary: "Whether claims, their owners and the pools agree, and what to do where they do not.",
    query: parameters.namespaceQuery,
    answer: views.consistencyViewSchema,
    wanted: LIST_CLAIMS,
    namespacesOf: namespaceOfQuery,
    render: ({ inspector, query, scope }) => inspector.consistency(query.namespace, scope),
  }),
  operation({
    id: "listNamespaces",
    path: "/api/v1/namespaces",
    summary: "Which namespaces are managed, and by which label.",
    query: parameters.namespaceQuery,
    answer: list(views.namespaceViewSchema, "Namespace"),
    wanted: LIST_CLAIMS,
    namespacesOf: namespaceOfQuery,
    isTagged: true,
    render: ({ inspector, query, scope }) => inspector.namespacesIn(query.namespace, scope),
  }),
  operation({
    id: "listNetworks",
    path: "/api/v1/networks",
    summary: "The networks of VMs, by bridge: where a VM could start, how many run, and what is wrong. Page by page.",
    query: parameters.networksQuery,
    answer: list(views.networkViewSchema, "Network"),
    wanted: LIST_CLAIMS,
    namespacesOf: namespaceOfQuery,
    render: ({ inspector, query, scope }) => inspector.networks.networks(query, scope),
    watch: ({ inspector, query, scope }, lastId, sink) =>
      inspector.feeds.networks(query, scope, { ...query, lastId }, sink),
  }),
  operation({
    id: "getNetwork",
    path: "/api/v1/networks/:namespace/:name",
    summary: "One network, with all nodes and findings.",
    params: parameters.networkParams,
    answer: views.networkViewSchema,
    wanted: LIST_CLAIMS,
    namespacesOf: ({ params }) => [params.namespace],
    render: ({ inspector, params, scope }) => inspector.networks.network(params.namespace, params.name, scope),
  }),
  operation({
    id: "listBridges",
    path: "/api/v1/bridges",
    summary: "The bridges of the nodes, page by page; in a namespace those that its networks lead to.",
    query: parameters.bridgesQuery,
    answer: list(views.bridgeViewSchema, "Bridge"),
    wanted: LIST_CLAIMS,
    namespacesOf: namespaceOfQuery,
    render: ({ inspector, query, scope }) => inspector.networks.bridges(query, scope),
    watch: ({ inspector, query, scope }, lastId, sink) =>
      inspector.feeds.bridges(query, scope, { ...query, lastId }, sink),
  }),
  operation({
    id: "checkAddress",
    path: "/api/v1/check",
    summary: "Whether a VM of a namespace that asks for an address would be admitted now, and why not.",
    query: parameters.checkQuery,
    answer: views.checkViewSchema,
    wanted: GET_CLAIMS,
    namespacesOf: namespaceOfQuery,
    render: ({ inspector, query, scope }) => inspector.check(query.mac, query.namespace, scope),
  }),
  operation({
    id: "getStatus",
    path: "/api/v1/status",
    summary: "What this replica knows, in numbers.",
    answer: views.statusViewSchema,
    wanted: LIST_POOLS,
    render: ({ inspector, viewers }) => inspector.status(viewers),
  }),
];

/** Whether the user may see the names of all pools. */
function mayList({ access, user }: { readonly access: ReaderAccess; readonly user: User }): Promise<boolean> {
  return access.mayDo(user, LIST_POOLS);
}
