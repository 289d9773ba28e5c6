/*
 * Times CNI executables: cni-timer ROUNDS PARALLEL COMMAND CONFIG LABEL[@NODE]=EXECUTABLE...
 *
 * Runs the executables in turn, each ROUNDS times (and some more first, to warm up), PARALLEL at once, for containers in
 * network namespaces of its own, on the node that is the network namespace NODE of "ip netns", or the own one. The order is
 * another one in each round, and the same in each run. Prints one JSON object: {"LABEL[@NODE]": {"wallMs": [...], "cpuMs": [...],
 * "rssKb": N}, ...}, in milliseconds from the first spawn to the last exit and of CPU for one process. Between runs it takes away what an ADD
 * made (with CNI_TIMER_DEL in the environment by the executable's DEL), or makes what a DEL needs. CNI_TIMER_PATH is the executables' CNI_PATH. With CNI_TIMER_THEN, a
 * file of the second one's configuration, EXECUTABLE is two of them with a comma between: a list as a runtime runs it, one
 * at a time, and the second one's answer is the list's. Exits 1 with the executable's answer when one fails.
 *
 * In C because spawning from Node costs several times what is measured.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PARALLEL = 256, MAX_VARIANTS = 8, WARM_UP_ROUNDS = 3, ANSWER_BYTES = 8192, ENV_BYTES = 512, SEARCH_BYTES = 8192, SETTLE_MS = 20 };

static const char IFNAME[] = "bench0";

struct variant {
  char *label;
  char *path;
  char *second; /* NULL without CNI_TIMER_THEN */
  int node;
  double *wall;
  double *cpu;
  int walls, cpus;
  long rss;
};

static int own_netns, parallel;
static int netns[MAX_PARALLEL];
static const char *config, *second_config;
static int nowhere;

static void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  exit(1);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void enter(int fd) {
  if (setns(fd, CLONE_NEWNET) != 0) die("setns: %s", strerror(errno));
}

static void make_namespaces(void) {
  own_netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < parallel; i++) {
    if (unshare(CLONE_NEWNET) != 0) die("unshare: %s", strerror(errno));
    netns[i] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    enter(own_netns);
  }
}

/* Deletes the interface in the namespace; there may be none. */
static void delete_interface(int fd) {
  struct {
    struct nlmsghdr header;
    struct ifinfomsg info;
    struct rtattr attribute;
    char name[16];
  } request = {0};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_DELLINK;
  request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  request.attribute.rta_type = IFLA_IFNAME;
  request.attribute.rta_len = sizeof request.attribute + sizeof request.name;
  strcpy(request.name, IFNAME);
  char answer[1024];
  enter(fd);
  int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  enter(own_netns);
  if (send(s, &request, sizeof request, 0) < 0 || recv(s, answer, sizeof answer, 0) < 0) die("netlink: %s", strerror(errno));
  close(s);
}

static pid_t launch(const char *path, const char *command, int index, int output, const char *input) {
  char text[5][ENV_BYTES];
  snprintf(text[0], ENV_BYTES, "CNI_COMMAND=%s", command);
  snprintf(text[1], ENV_BYTES, "CNI_CONTAINERID=container%d", index);
  snprintf(text[2], ENV_BYTES, "CNI_NETNS=/proc/%d/fd/%d", getpid(), netns[index]);
  snprintf(text[3], ENV_BYTES, "CNI_IFNAME=%s", IFNAME);
  const char *plugins = getenv("CNI_TIMER_PATH");
  snprintf(text[4], ENV_BYTES, "CNI_PATH=%s", plugins != NULL ? plugins : "/opt/cni/bin");
  char programs[SEARCH_BYTES];
  snprintf(programs, sizeof programs, "PATH=%s", getenv("PATH"));
  char *env[] = {text[0], text[1], text[2], text[3], text[4], programs, NULL};
  char *argv[] = {(char *)path, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  pid_t pid;
  int error = posix_spawn(&pid, path, &actions, NULL, argv, env);
  if (error != 0) die("%s: %s", path, strerror(error));
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

static double cpu_ms(const struct rusage *usage) {
  const struct timeval u = usage->ru_utime, s = usage->ru_stime;
  return (u.tv_sec + s.tv_sec) * 1e3 + (u.tv_usec + s.tv_usec) / 1e3;
}

/* Of "ip netns". */
static int open_node(const char *name) {
  char path[128];
  snprintf(path, sizeof path, "/run/netns/%s", name);
  int node = open(path, O_RDONLY | O_CLOEXEC);
  if (node < 0) die("%s: %s", path, strerror(errno));
  return node;
}

/* All at once; the answers go to one pipe, read to its end as a runtime does. */
static double run(struct variant *v, const char *command, int record) {
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) die("pipe: %s", strerror(errno));
  enter(v->node);
  double start = now_ms();
  pid_t pids[MAX_PARALLEL];
  int failed = 0, status;
  if (v->second != NULL) {
    waitpid(launch(v->path, command, 0, nowhere, config), &status, 0);
    if (status != 0) failed++;
  }
  for (int i = 0; i < parallel; i++) {
    pids[i] = launch(v->second != NULL ? v->second : v->path, command, i, pipes[1], v->second != NULL ? second_config : config);
  }
  close(pipes[1]);
  char answer[ANSWER_BYTES + 1], rest[ANSWER_BYTES];
  size_t length = 0;
  ssize_t got;
  while ((got = read(pipes[0], length < ANSWER_BYTES ? answer + length : rest, length < ANSWER_BYTES ? ANSWER_BYTES - length : sizeof rest)) > 0)
    if (length < ANSWER_BYTES) length += got;
  answer[length] = 0;
  for (int i = 0; i < parallel; i++) {
    struct rusage usage;
    wait4(pids[i], &status, 0, &usage);
    if (status != 0) failed++;
    if (!record) continue;
    v->cpu[v->cpus++] = cpu_ms(&usage);
    if (usage.ru_maxrss > v->rss) v->rss = usage.ru_maxrss;
  }
  double took = now_ms() - start;
  enter(own_netns);
  close(pipes[0]);
  if (failed != 0) die("%s %s: %d of %d failed: %s", v->label, command, failed, parallel, answer);
  return took;
}

static void forget(const char *pattern) {
  glob_t found;
  if (glob(pattern, 0, NULL, &found) != 0) return;
  for (size_t i = 0; i < found.gl_pathc; i++) unlink(found.gl_pathv[i]);
  globfree(&found);
}

/* What a list's second plugin keeps is about an interface that is gone then. */
static void take_away(void) {
  for (int i = 0; i < parallel; i++) delete_interface(netns[i]);
  if (second_config == NULL) return;
  forget("/run/cni/tuning/*");
  forget("/run/cni/cluster-network-addons/attachments/*");
}

static void shuffle(int *order, int count, unsigned *seed) {
  for (int last = count - 1; last > 0; last--) {
    int other = rand_r(seed) % (last + 1), kept = order[last];
    order[last] = order[other];
    order[other] = kept;
  }
}

/*
 * What an ADD leaves for the kernel to free would be waited for by a DEL that came right after it. The time varies, because
 * the kernel frees at its clock's ticks.
 */
static void settle(unsigned *seed) {
  const struct timespec pause = {.tv_nsec = (SETTLE_MS + rand_r(seed) % SETTLE_MS) * 1000000L};
  nanosleep(&pause, NULL);
}

static void print_samples(const char *name, const double *values, int count) {
  printf("\"%s\":[", name);
  for (int i = 0; i < count; i++) printf(i == 0 ? "%.4f" : ",%.4f", values[i]);
  printf("]");
}

int main(int argc, char **argv) {
  if (argc < 6) die("usage: cni-timer ROUNDS PARALLEL COMMAND CONFIG LABEL[@NODE]=EXECUTABLE...");
  int rounds = atoi(argv[1]), variants = argc - 5;
  parallel = atoi(argv[2]);
  const char *command = argv[3];
  config = argv[4];
  second_config = getenv("CNI_TIMER_THEN");
  nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (rounds < 1 || parallel < 1 || parallel > MAX_PARALLEL || variants > MAX_VARIANTS) die("cni-timer: a number is out of range");
  struct variant v[MAX_VARIANTS] = {0};
  for (int i = 0; i < variants; i++) {
    v[i].label = strtok(argv[5 + i], "=");
    v[i].path = strtok(NULL, "");
    if (v[i].label == NULL || v[i].path == NULL) die("cni-timer: expected LABEL[@NODE]=EXECUTABLE");
    if (second_config != NULL) v[i].second = strchr(v[i].path, ',');
    if (v[i].second != NULL) *v[i].second++ = 0;
    if (second_config != NULL && (v[i].second == NULL || parallel != 1)) die("cni-timer: expected a list of two, one at a time");
    v[i].wall = calloc(rounds, sizeof(double));
    v[i].cpu = calloc((size_t)rounds * parallel, sizeof(double));
  }
  make_namespaces();
  int order[MAX_VARIANTS];
  unsigned seed = 1;
  for (int i = 0; i < variants; i++) {
    const char *node = strchr(v[i].label, '@');
    v[i].node = node == NULL ? own_netns : open_node(node + 1);
    order[i] = i;
  }
  for (int round = -WARM_UP_ROUNDS; round < rounds; round++) {
    shuffle(order, variants, &seed);
    for (int turn = 0; turn < variants; turn++) {
      struct variant *one = &v[order[turn]];
      if (strcmp(command, "DEL") == 0) {
        run(one, "ADD", 0);
        settle(&seed);
      }
      double took = run(one, command, round >= 0);
      if (round >= 0) one->wall[one->walls++] = took;
      if (strcmp(command, "ADD") != 0) continue;
      if (getenv("CNI_TIMER_DEL") != NULL) run(one, "DEL", 0);
      else take_away();
    }
  }
  for (int i = 0; i < variants; i++) {
    printf("%s\"%s\":{", i == 0 ? "{" : ",", v[i].label);
    print_samples("wallMs", v[i].wall, v[i].walls);
    printf(",");
    print_samples("cpuMs", v[i].cpu, v[i].cpus);
    printf(",\"rssKb\":%ld}", v[i].rss);
  }
  printf("}\n");
}
