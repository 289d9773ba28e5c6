/*
 * The least that an ADD or DEL on layer 2 costs: the kernel's work for a veth pair between a bridge and a container, asked
 * for by a static process with as few requests as do it. Reads CNI_COMMAND, CNI_CONTAINERID, CNI_NETNS and CNI_IFNAME,
 * makes bridge `br-bench` when it is missing, checks nothing and answers an ADD with an empty object.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct message {
  struct nlmsghdr header;
  struct ifinfomsg info;
  char attributes[512];
};

static void begin(struct message *m, int flags) {
  memset(m, 0, sizeof *m);
  m->header.nlmsg_len = NLMSG_LENGTH(sizeof m->info);
  m->header.nlmsg_type = RTM_NEWLINK;
  m->header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
}

static struct rtattr *put(struct message *m, int type, const void *data, int length) {
  struct rtattr *a = (struct rtattr *)((char *)m + NLMSG_ALIGN(m->header.nlmsg_len));
  a->rta_type = type;
  a->rta_len = RTA_LENGTH(length);
  if (length > 0) memcpy(RTA_DATA(a), data, length);
  m->header.nlmsg_len = NLMSG_ALIGN(m->header.nlmsg_len) + RTA_ALIGN(a->rta_len);
  return a;
}

static void end(struct message *m, struct rtattr *a) { a->rta_len = (char *)m + m->header.nlmsg_len - (char *)a; }

static int request(int s, struct message *m) {
  char answer[4096];
  if (send(s, m, m->header.nlmsg_len, 0) < 0 || recv(s, answer, sizeof answer, 0) < 0) exit(1);
  return ((struct nlmsgerr *)NLMSG_DATA((struct nlmsghdr *)answer))->error;
}

static int open_route(void) { return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE); }

static int bring_up(int s, const char *name) {
  struct message m;
  begin(&m, 0);
  m.info.ifi_flags = m.info.ifi_change = IFF_UP;
  put(&m, IFLA_IFNAME, name, strlen(name) + 1);
  return request(s, &m);
}

static void ensure_bridge(int s) {
  struct message m;
  begin(&m, NLM_F_CREATE | NLM_F_EXCL);
  m.info.ifi_flags = m.info.ifi_change = IFF_UP;
  put(&m, IFLA_IFNAME, "br-bench", 9);
  struct rtattr *info = put(&m, IFLA_LINKINFO, NULL, 0);
  put(&m, IFLA_INFO_KIND, "bridge", 6);
  end(&m, info);
  request(s, &m);
}

/* FNV-1a of the container's id: as unique as the plugins' names. */
static void name_port(char *name) {
  unsigned hash = 0x811c9dc5;
  for (const char *c = getenv("CNI_CONTAINERID"); c != NULL && *c != 0; c++) hash = (hash ^ (unsigned char)*c) * 0x01000193;
  snprintf(name, IFNAMSIZ, "veth%08x", hash);
}

static int delete_port(int s) {
  char name[IFNAMSIZ];
  name_port(name);
  struct message m;
  begin(&m, 0);
  m.header.nlmsg_type = RTM_DELLINK;
  put(&m, IFLA_IFNAME, name, strlen(name) + 1);
  return request(s, &m);
}

int main(void) {
  const char *command = getenv("CNI_COMMAND"), *path = getenv("CNI_NETNS"), *ifname = getenv("CNI_IFNAME");
  if (command == NULL || path == NULL || ifname == NULL) return 1;
  int s = open_route();
  if (strcmp(command, "DEL") == 0) return delete_port(s) == 0 ? 0 : 1;
  int netns = open(path, O_RDONLY | O_CLOEXEC);
  unsigned bridge = if_nametoindex("br-bench");
  if (bridge == 0) ensure_bridge(s), bridge = if_nametoindex("br-bench");
  char name[IFNAMSIZ];
  name_port(name);
  struct message m;
  begin(&m, NLM_F_CREATE | NLM_F_EXCL);
  m.info.ifi_flags = m.info.ifi_change = IFF_UP;
  put(&m, IFLA_IFNAME, name, strlen(name) + 1);
  put(&m, IFLA_MASTER, &bridge, sizeof bridge);
  struct rtattr *info = put(&m, IFLA_LINKINFO, NULL, 0);
  put(&m, IFLA_INFO_KIND, "veth", 4);
  struct rtattr *data = put(&m, IFLA_INFO_DATA, NULL, 0);
  struct ifinfomsg none = {0};
  struct rtattr *peer = put(&m, VETH_INFO_PEER, &none, sizeof none);
  put(&m, IFLA_IFNAME, ifname, strlen(ifname) + 1);
  put(&m, IFLA_NET_NS_FD, &netns, sizeof netns);
  end(&m, peer), end(&m, data), end(&m, info);
  if (request(s, &m) != 0) return 1;
  if (setns(netns, CLONE_NEWNET) != 0) return 1;
  if (bring_up(open_route(), ifname) != 0) return 1;
  return write(STDOUT_FILENO, "{}\n", 3) == 3 ? 0 : 1;
}
