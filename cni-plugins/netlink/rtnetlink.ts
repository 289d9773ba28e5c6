/**
 * Numbers of linux/netlink.h, rtnetlink.h, if_link.h, if_bridge.h, named as there without their common prefixes.
 * Plain constants rather than objects: the bundler then puts only the used ones into the executables.
 */

export const NETLINK_ROUTE = 0;
export const NETLINK_NETFILTER = 12;

export const NLM_F_REQUEST = 0x1;
export const NLM_F_ACK = 0x4;
export const NLM_F_DUMP_INTR = 0x10;
export const NLM_F_DUMP = 0x300;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;
/** Flags of an NLMSG_ERROR answer. */
export const NLM_F_CAPPED = 0x100;
export const NLM_F_ACK_TLVS = 0x200;

export const NLMSG_ERROR = 2;
export const NLMSG_DONE = 3;
export const NLMSGERR_ATTR_MSG = 1;

export const RTM_NEWLINK = 16;
export const RTM_DELLINK = 17;
export const RTM_GETLINK = 18;
export const RTM_SETLINK = 19;

/** Bit of RTNLGRP_LINK in a socket's group mask. */
export const RTMGRP_LINK = 1;

export const AF_UNSPEC = 0;
export const AF_BRIDGE = 7;

export const IFF_UP = 0x1;
export const IFF_PROMISC = 0x100;

export const IFLA_ADDRESS = 1;
export const IFLA_IFNAME = 3;
export const IFLA_MTU = 4;
export const IFLA_LINK = 5;
export const IFLA_MASTER = 10;
export const IFLA_PROTINFO = 12;
export const IFLA_OPERSTATE = 16;
export const IFLA_LINKINFO = 18;
export const IFLA_IFALIAS = 20;
export const IFLA_NET_NS_FD = 28;
export const IFLA_EXT_MASK = 29;
export const IFLA_PROMISCUITY = 30;

export const RTEXT_FILTER_SKIP_STATS = 8;

export const IFLA_INFO_KIND = 1;
export const IFLA_INFO_DATA = 2;
export const IFLA_INFO_SLAVE_DATA = 5;

export const VETH_INFO_PEER = 1;

export const IFLA_BRPORT_MODE = 4;
export const IFLA_BRPORT_ISOLATED = 33;

export const IF_OPER_UP = 6;

/** if.h: interface names have at most 15 bytes; ifalias at most 255. */
export const IFNAME_MAX_BYTES = 15;
export const IFALIAS_MAX_BYTES = 255;
