/**
 * Numbers of linux/netlink.h, rtnetlink.h, if_link.h, if_bridge.h, named as there without their common prefixes.
 * Plain constants rather than objects: the bundler then puts only the used ones into the executables.
 */

export const NETLINK_ROUTE = 0;
export const NETLINK_NETFILTER = 12;

export const NLM_F_REQUEST = 0x1;
export const NLM_F_ACK = 0x4;
export const NLM_F_ECHO = 0x8;
export const NLM_F_DUMP_INTR = 0x10;
export const NLM_F_DUMP = 0x300;
export const NLM_F_EXCL = 0x200;
export const NLM_F_CREATE = 0x400;
export const NLM_F_APPEND = 0x800;
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

export const RTM_NEWADDR = 20;
export const RTM_DELADDR = 21;
export const RTM_DELNSID = 89;
export const RTM_GETADDR = 22;
export const RTM_NEWROUTE = 24;
export const RTM_GETROUTE = 26;
export const RTM_NEWNEIGH = 28;
export const RTM_GETNEIGH = 30;
export const RTM_GETVLAN = 114;

/** Bit of RTNLGRP_IPV6_IFADDR. */
export const RTMGRP_IPV4_IFADDR = 0x10;
export const RTMGRP_IPV6_IFADDR = 0x100;
/** RTNLGRP_NSID as a bit. */
export const RTMGRP_NSID = 0x8000000;
/** Bit of RTNLGRP_LINK in a socket's group mask. */
export const RTMGRP_LINK = 1;
/** Bit of RTNLGRP_NEIGH. */
export const RTMGRP_NEIGH = 4;

export const AF_UNSPEC = 0;
export const AF_INET = 2;
export const AF_BRIDGE = 7;
export const AF_INET6 = 10;

export const LOOPBACK_IFINDEX = 1;

export const IFF_UP = 0x1;
export const IFF_PROMISC = 0x100;
export const IFF_ALLMULTI = 0x200;
export const IFF_LOWER_UP = 0x10000;

export const IFLA_ADDRESS = 1;
export const IFLA_IFNAME = 3;
export const IFLA_MTU = 4;
export const IFLA_LINK = 5;
export const IFLA_MASTER = 10;
export const IFLA_PROTINFO = 12;
export const IFLA_TXQLEN = 13;
export const IFLA_OPERSTATE = 16;
export const IFLA_LINKINFO = 18;
export const IFLA_IFALIAS = 20;
export const IFLA_AF_SPEC = 26;
export const IFLA_NET_NS_FD = 28;
export const IFLA_EXT_MASK = 29;
export const IFLA_PROMISCUITY = 30;
export const IFLA_PERM_ADDRESS = 54;

export const RTEXT_FILTER_SKIP_STATS = 8;

export const IFLA_INFO_KIND = 1;
export const IFLA_INFO_DATA = 2;
export const IFLA_INFO_SLAVE_DATA = 5;

export const VETH_INFO_PEER = 1;

export const IFLA_BRPORT_STATE = 1;
export const IFLA_BRPORT_MODE = 4;
export const IFLA_BRPORT_ISOLATED = 33;
export const BR_STATE_DISABLED = 0;

export const IFLA_BR_STP_STATE = 5;
export const IFLA_BR_VLAN_FILTERING = 7;
export const IFLA_BR_VLAN_DEFAULT_PVID = 39;

export const IFLA_BRIDGE_FLAGS = 0;
export const IFLA_BRIDGE_VLAN_INFO = 2;
export const BRIDGE_FLAGS_MASTER = 1;
export const BRIDGE_VLAN_INFO_PVID = 2;
export const BRIDGE_VLAN_INFO_UNTAGGED = 4;
export const BRIDGE_VLAN_INFO_RANGE_BEGIN = 8;
export const BRIDGE_VLAN_INFO_RANGE_END = 16;
export const RTEXT_FILTER_BRVLAN_COMPRESSED = 4;

export const IFA_ADDRESS = 1;
export const IFA_LOCAL = 2;
export const IFA_BROADCAST = 4;
export const IFA_FLAGS = 8;
export const IFA_F_DADFAILED = 0x08;
export const IFA_F_TENTATIVE = 0x40;

export const NDA_LLADDR = 2;
export const NDA_CACHEINFO = 3;
export const NDA_VLAN = 5;
export const NDA_MASTER = 9;
/** Of ndm_updated in struct nda_cacheinfo. */
export const NDM_UPDATED_OFFSET = 8;
export const NUD_NOARP = 0x40;
export const NUD_PERMANENT = 0x80;
export const NTF_SELF = 0x02;

export const RTA_DST = 1;
export const RTA_OIF = 4;
export const RTA_GATEWAY = 5;
export const RTA_PRIORITY = 6;
export const RTA_METRICS = 8;
export const RTA_MULTIPATH = 9;
export const RTA_TABLE = 15;
export const RTAX_MTU = 2;
export const RTAX_ADVMSS = 8;
export const RT_TABLE_MAIN = 254;
export const RTPROT_BOOT = 3;
export const RTN_UNICAST = 1;

export const IF_OPER_UP = 6;

/** if.h: interface names have at most 15 bytes; ifalias at most 255. */
export const IFNAME_MAX_BYTES = 15;
export const IFALIAS_MAX_BYTES = 255;
